// Package ring is the shard map, the record of the holder of each bucket, and the decisions about it. It is pure:
// no clock, client or randomness. With the same input, its results are the same on each replica.
//
//	Bucket         an object belongs to one of a fixed number of buckets
//	Ring           the holder of each bucket, and how often the bucket was claimed
//	Encode, Decode the shard map as the data of a ConfigMap
//	Targets        the session that should hold each bucket
//	LeaderTarget   the session that should hold the leader's lock
//
// Targets and LeaderTarget only propose. They grant no right: a replica holds a bucket only after its own
// successful compare-and-swap of the shard map. Replicas that see different candidates, or that run versions with
// different placement, can move a bucket more often than needed, but never share it.
//
// Rules of Targets that hold for any input, and that the property tests check:
//
//   - no candidate is given more than one bucket more than another, once all are settled;
//   - a bucket is moved away from a candidate only if the shares could not be even otherwise;
//   - a bucket that no candidate holds has a target as soon as there is a candidate, settled or not;
//   - a bucket that a candidate holds is never moved to another one that is not settled;
//   - after the targets are carried out, the result is the same targets; carrying them out one at a time, in any
//     order, takes no more moves than all at once;
//   - the order of the candidates does not matter.
package ring
