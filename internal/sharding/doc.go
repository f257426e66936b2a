// Package sharding lets several replicas of a controller divide objects of many clusters among themselves, object by
// object, so that two never act on one at the same time and the work of a dead one is taken over in seconds. It knows
// nothing of what the objects are: other controllers could use it.
//
// An object belongs to one of a fixed number of buckets by a hash of its cluster's UID, its namespace and its name. One
// object on the hub, the ring, says which replica's session holds each bucket. A session is a Lease of its own.
// [Replica.Enter] gives a token for the length of a reconcile, or refuses; [Token.Check] is asked right before every
// side effect; the token's context ends when the right ends. The rules are those of package protocol; package ring
// holds the record, the hash and the placement, package hub the requests.
//
// # The guarantee
//
// While clocks run at rates that differ by less than a quarter (validity 8 s against patience 12 s leaves more), a
// replica begins no call with side effects for a bucket that another may already act on, whatever happens to the hub,
// to watches, to replies, to the time of day, or to processes that are killed, paused or cut off. Calls in flight are
// ended by their context before another replica may begin one. Lost Leases, a lost ring and a hub that was restored
// from a backup cost time and never that guarantee.
//
// # Its limits
//
// Three things no lease can close; what is written has to be harmless when it arrives late:
//
//   - A process that is paused between its last check and the system call that sends the request sends it when it goes
//     on. The check is the last thing before the request, and a pause has to last from there to the end of another's
//     patience, 4 s at the least.
//   - A request that was sent while the right lasted may be carried out by the server after the client gave it up. It
//     ends, as far as this package is concerned, when the client closes its connection.
//   - A machine that is suspended with both of its clocks goes on as if no time had passed, for up to one validity.
//
// Users of this package therefore make each side effect conditional on the server's side where they can: names that
// exist once, versions that must match, marks that are never taken back.
//
// # Availability
//
// A replica that cannot reach the hub stops acting after its validity and goes on when it can, without a restart. When
// the hub is away for all of them all stop, and nobody takes anything from anybody afterwards.
package sharding
