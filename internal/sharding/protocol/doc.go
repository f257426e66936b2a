// Package protocol is the state of one replica of the sharding protocol: the actions that it can take now, its next
// requests to the hub, and the meaning of responses. It does no I/O, starts no goroutine and reads no clock. So the same
// code runs in production and in a model on virtual time, with thousands of faults a second.
//
// # The rules
//
//   - A session is one Lease, renewed by compare-and-swap. A renewal counts from the instant before its request was
//     sent. It counts only together with a read of the shard map sent at that instant or later. Validity ends a fixed
//     time after that instant, on the monotonic or the wall clock, whichever comes first.
//   - Only a successful compare-and-swap of its own grants a replica a bucket. All other observations can only revoke
//     buckets. A release counts as a loss from the moment it is sent.
//   - A session that was silent for the whole takeover timeout of an observer is fenced by compare-and-swap of its
//     Lease; a missing Lease is created fenced. The timeout runs on the observer's monotonic clock, and only while the
//     observer itself is valid without interruption. Only then are the session's buckets taken. A fence is final: the
//     process continues with a new session.
//   - A shard map that is missing, damaged or older than one that was seen is rebuilt with a higher generation and
//     without holders. No replica takes a bucket from it for one takeover timeout: by then, every holder of a bucket in
//     the former shard map has either read the new one or lost validity.
//   - A call with side effects is sent only while enough validity is left, and ends with the validity.
package protocol
