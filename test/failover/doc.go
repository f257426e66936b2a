// Package failover tests what several replicas of the operator do to vCenter together while they are killed, paused, cut
// off and replaced: no two ever act on one VmGroup at the same time, and none is left alone for longer than promised.
//
// Nothing is taken from the replicas' own words. What they do to vCenter is recorded by a proxy before it (History), what
// they own is read from the hub directly (Timeline). Overlaps are looked for twice, by a sweep that says who, when and what
// (Overlaps), and by a linearizability checker against the model of a lock (Linearizable).
//
// The operator runs with its default times. Three stories are part of `make test`; the others, and all bounds of real time, have
// the build tag slow:
//
//	make test-failover
package failover
