// Package sharding lets several replicas of a controller divide objects of many clusters among themselves, object by
// object. Two replicas never act on one object at the same time, and another replica takes over the work of a dead one
// within seconds. The package does not depend on the kind of the objects: other controllers can use it.
//
// An object belongs to one of a fixed number of buckets, by a hash of its cluster's UID, its namespace and its name.
// One object on the hub, the shard map, names the session that holds each bucket. A session belongs to a replica and
// has its own Lease. [Replica.Enter] grants a token for the length of a reconcile, or refuses. [Token.Check] must be
// called right before every side effect. The token's context ends when the right ends. Package protocol has the rules;
// package ring has the record, the hash and the placement; package hub has the requests.
//
// # The guarantee
//
// As long as clock rates differ by less than a quarter, two replicas never act on one bucket at the same time: before
// another replica can begin a call with side effects, contexts have ended the calls in flight of the previous one.
// Validity 8 s and takeover timeout 12 s allow a larger difference. The guarantee holds for all failures of the hub,
// watches and replies, for changes of the time of day, and for processes that are killed, paused or cut off. Lost
// Leases, a lost shard map and a hub restored from a backup cost time, but never break it.
//
// # Its limits
//
// No lease can prevent three cases; a write that arrives late must be harmless:
//
//   - A process that is paused between its last check and the system call that sends the request sends the request when
//     it resumes. The check is the last action before the request. To be harmful, a pause must last from there to the
//     end of the takeover timeout of another replica, at least 4 s.
//   - The server can execute a request that was sent while the right lasted after the client gave up. For this package,
//     the request ends when the client closes its connection.
//   - A machine that is suspended with both of its clocks continues as if no time had passed, for up to one validity.
//
// Users of this package must therefore make each side effect conditional on the server if possible: unique names,
// versions that must match, marks that are never removed.
//
// # Availability
//
// A replica that cannot reach the hub stops acting when its validity ends, and resumes without a restart when it
// reaches the hub again. If no replica can reach the hub, all stop, and afterwards none takes buckets from another.
package sharding
