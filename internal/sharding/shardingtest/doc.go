// Package shardingtest provides an in-memory hub, and processes that can be stopped, for tests of replicas on virtual time. It runs in
// a bubble of testing/synctest, together with real sharding.Replicas.
//
// Hub stores sessions and the shard map with versions, and replaces only the named version. A Link is one replica's connection to it,
// a sharding.Hub. Its requests take time, and can be refused, lost, executed without a response, or executed long after the client
// gave up. Its watches lag, stall and break, those of the sessions and that of the shard map independently. A Process is the process
// of a replica: its clocks drift and can be set, and it can be stopped, continued and killed.
//
// # Limits
//
// A stopped Process blocks wherever it interacts with the outside: it sends and receives nothing, and its clocks stop, so that its
// deadlines pass unnoticed. It still computes: a goroutine between two such places continues up to the next one. A process stopped by
// SIGSTOP would stop between any two instructions. This makes a difference only between the check of a right and the system call that
// sends the request, which no lease can prevent; see package sharding.
//
// Nothing is encoded: the tests of package hub cover how the real client encodes Leases and ConfigMaps.
package shardingtest
