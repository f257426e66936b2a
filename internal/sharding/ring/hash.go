package ring

import "github.com/cespare/xxhash/v2"

// HashName names Bucket's function in Settings.Hash. It changes when Bucket does: replicas that map objects to buckets
// differently would act on the same object with two locks.
const HashName = "xxhash64/1"

// Bucket returns the bucket of an object, from 0 to buckets-1. buckets must be at least 1. The cluster is identified by
// UID, so that two names for one cluster do not make two buckets.
func Bucket(clusterUID, namespace, name string, buckets int) int {
	// On the stack for all usual lengths: this runs for each event of each object. NUL occurs in none of the parts, so
	// that no two objects have the same bytes.
	key := make([]byte, 0, 256)
	key = append(key, clusterUID...)
	key = append(key, 0)
	key = append(key, namespace...)
	key = append(key, 0)
	key = append(key, name...)
	return int(xxhash.Sum64(key) % uint64(buckets))
}

// leaderKey replaces the bucket in the weights for the leader's lock.
const leaderKey = "leader"

// sessionHash returns the session's part of its weights.
func sessionHash(session string) uint64 { return xxhash.Sum64String(session) }

// bucketWeight returns the preference of a session for a bucket (rendezvous hashing).
func bucketWeight(session uint64, bucket int) uint64 { return weight(session, uint64(bucket)) }

// leaderWeight returns the preference of a session for the leader's lock.
func leaderWeight(session uint64) uint64 { return weight(session, xxhash.Sum64String(leaderKey)) }

// weight mixes after the XOR: otherwise, sessions with similar names have similar weights for all buckets, and one of
// them wins most.
func weight(session, key uint64) uint64 { return mix(session ^ mix(key)) }

// mix is the finalizer of SplitMix64: each bit of the result depends on each bit of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
