// Package operations keeps track of what was submitted to one vCenter and has not shown its effect yet. It
// calls nothing: it is told what happened.
//
// The life of an operation:
//
//	Begin ──► submitted ──Accepted──► running ──Succeeded──► settling ──► removed
//	              │                      │                      (its effect is in the inventory, or a full
//	              │                      │                       listing that began later was applied)
//	              │                      ├──Failed──► removed, and a Failure with the time to try again
//	              │                      └──TaskLost─┐
//	              └──────────Unknown────────────────►unknown ──► removed
//	                             (after the server's own list of recent tasks was read, every task on it that
//	                              might be the lost one has ended, and a full listing that began after that
//	                              was applied;
//	                              a clone that hangs is waited for as long as Patience says)
//
// There is at most one operation per ordinal of a group, so that nothing is submitted twice on stale knowledge.
//
// Points in time that must be ordered against listings are Marks: numbers that only grow, handed out by the
// inventory. Durations (backoff) use the injected clock.
package operations
