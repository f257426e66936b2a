// Package protocol is the state of one replica of the sharding protocol: what it may do now, what it should ask of the
// hub next, and what an answer means. It does no I/O, starts no goroutine and reads no clock, so that the same code runs
// in production and, with thousands of faults a second, in a model on virtual time.
//
// # The rules
//
//   - A session is one Lease, renewed by compare-and-swap. A renewal counts from the instant before its request was
//     sent, and only together with a read of the ring that was sent as late or later. Validity ends a fixed time after
//     that instant, on the monotonic or the wall clock, whichever comes first.
//   - Only a compare-and-swap of one's own that was answered with success grants a bucket. Everything else that is seen
//     can only take away. A release counts as a loss from the moment when it is sent.
//   - A session that was silent for the whole patience of an observer, on the observer's monotonic clock and only while
//     the observer itself was valid without a break, is fenced by compare-and-swap of its Lease; a missing Lease is
//     created fenced. Only then are its buckets taken. Fenced is final: the process goes on with a new session.
//   - A ring that is missing, damaged or older than one that was seen is rebuilt with a higher generation and without
//     holders, and nobody takes anything from it for one patience: by then everybody who held something under the former
//     ring has either read the new one or lost validity.
//   - A call with side effects is sent only while enough validity is left, and is ended with it.
package protocol
