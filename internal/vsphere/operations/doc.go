// Package operations tracks the operations that were submitted to one vCenter and have no visible effect yet. It makes
// no calls: its callers report the events.
//
// The life of an operation:
//
//	Begin ──► submitted ──Accepted──► running ──Succeeded──► settling ──► removed
//	              │                      │                      (its effect is in the inventory, or a full
//	              │                      │                       listing that began later was applied)
//	              │                      ├──Failed──► removed, and a Failure with the time of the retry
//	              │                      └──TaskLost─┐
//	              └──────────Unknown────────────────►unknown ──► removed
//	                             (after the server's own list of recent tasks was read, every task on it that
//	                              can be the lost one has ended, and a full listing that began after that
//	                              was applied;
//	                              the wait for a hanging clone ends after the constant Patience)
//
// There is at most one operation per ordinal of a group, so that stale knowledge causes no second submission.
//
// Points in time that must be ordered against listings are Marks: growing numbers from the inventory. Durations
// (backoff) use the injected clock.
package operations
