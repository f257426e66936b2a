package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

const (
	// ringBuckets is the manager's default.
	ringBuckets = 128
	// fleets is the number of fleets of clusters and replicas for the unevenness.
	fleets = 200
	// placed is the number of groups of a fleet, and placedMembers the number of their members.
	placed, placedMembers = 1000, 10
)

// fewestClaims returns how many buckets must change their holder until n replicas share them evenly. held contains the buckets of each
// replica that stays.
func fewestClaims(held map[string]int, buckets, n int) int {
	counts := make([]int, 0, len(held))
	for _, count := range held {
		counts = append(counts, count)
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	claims := buckets
	for i, count := range counts[:min(n, len(counts))] {
		quota := buckets / n
		if i < buckets%n {
			quota++ // give the larger shares to the replicas with the most buckets, which then release fewest
		}
		claims -= min(count, quota)
	}
	return claims
}

// unevenness returns, for several fleets, the groups of the fullest of n replicas, divided by the mean.
func unevenness(n, fleets int) []float64 {
	random := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // the same fleets in every run, so that figures can be compared
	out := make([]float64, fleets)
	for i := range out {
		candidates := make([]ring.Candidate, n)
		for k := range candidates {
			candidates[k] = ring.Candidate{Session: anyUUID(random), Settled: true}
		}
		targets := ring.Targets(make([]ring.Lock, ringBuckets), candidates)
		var uids [placedMembers]string
		for m := range uids {
			uids[m] = anyUUID(random)
		}
		counts := map[string]int{}
		for g := range placed {
			bucket := ring.Bucket(uids[g%placedMembers], fmt.Sprintf("team-%d", g/placedMembers%5), fmt.Sprintf("vg-%d", g/placedMembers), ringBuckets)
			counts[targets[bucket]]++
		}
		most := 0
		for _, count := range counts {
			most = max(most, count)
		}
		out[i] = float64(most) * float64(n) / float64(placed)
	}
	return out
}

func anyUUID(random *rand.Rand) string {
	a, b := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&(1<<48-1))
}
