// Package failover tests the joint effect on vCenter of several replicas of the operator while they are killed, paused,
// disconnected and replaced: no two ever act on one VmGroup at the same time, and no group is without an owner for
// longer than promised.
//
// The tests do not rely on the replicas' own reports. A proxy records their calls to vCenter (History), and the test
// reads their buckets directly from the hub (Timeline). Overlaps are detected twice, by a sweep that returns caller,
// time and call (Overlaps), and by a linearizability checker against the model of a lock (Linearizable).
//
// The operator runs with its default times. Three stories are part of `make test`; the others, and all bounds of real
// time, have the build tag slow:
//
//	make test-failover
package failover
