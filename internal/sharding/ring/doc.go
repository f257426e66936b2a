// Package ring is the record of who holds which bucket, and the decisions about it. It is pure: no clock, client or
// randomness. What it says is the same on each replica that knows the same.
//
//	Bucket         an object belongs to one of a fixed number of buckets
//	Ring           who holds each bucket, and how often it was claimed
//	Encode, Decode the ring as the data of a ConfigMap
//	Targets        who should hold each bucket
//	LeaderTarget   who should hold the leader's lock
//
// Targets and LeaderTarget only propose. They give nobody a right: a replica holds a bucket when its own
// compare-and-swap of the ring says so. Replicas that see different candidates, or that run versions with different
// ideas of placement, may move a bucket more often than needed, but never share it.
//
// Rules of Targets that hold whatever the input, and that the property tests check:
//
//   - no candidate is given more than one bucket more than another, once all are settled;
//   - a bucket is moved away from a candidate only if the shares could not be even otherwise;
//   - a bucket that no candidate holds has a target as soon as there is a candidate, settled or not;
//   - a bucket that a candidate holds is never moved to another one that is not settled;
//   - whoever has carried out the targets is given the same targets again, and carrying them out one by one, in any
//     order, takes no more moves than all at once;
//   - shuffling the candidates changes nothing.
package ring
