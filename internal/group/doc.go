// Package group decides about one VmGroup: its next step, its status and events, and the time of the next check. It is pure: it has no clock, client or logger, and the same
// facts give the same result.
//
// [Decide] takes a [Snapshot], which is read from memory, and returns a [Decision] with one [Step]. Each call is a step whose answer is added to the snapshot before the next
// decision. So a pass over a group reads from top to bottom: gather the facts, then alternately decide and carry out.
package group
