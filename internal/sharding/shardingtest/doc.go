// Package shardingtest is a hub in memory, and processes that can be stopped, for tests of replicas on virtual time: it is made to run
// in a bubble of testing/synctest, together with real sharding.Replicas.
//
// Hub stores sessions and the ring with versions, and replaces only the version that was named. A Link is one replica's way
// to it, a sharding.Hub: its requests take time, and can be refused, lost, carried out without an answer or long after the client gave
// up; its watches lag, stall and break, those of the sessions and that of the ring each for itself. A Process is what a
// replica runs in: it has clocks that drift and can be set, and it can be stopped, continued and killed.
//
// # What this cannot show
//
// A stopped Process is held up wherever it meets the world: it sends nothing, hears nothing, and its clocks stand still, so that its
// deadlines pass unseen. It still computes: a goroutine between two such places goes on up to the next one. In a process
// that SIGSTOP stops it would stand between any two instructions. The one place where that makes a difference is between the
// check of a right and the system call that sends the request, which no lease can close; see package sharding.
//
// Nothing is encoded: what the real client makes of Leases and ConfigMaps is for the tests of package hub.
package shardingtest
