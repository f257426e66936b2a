// Package group decides about one VmGroup: what is done next, what its status and events say, and when to look again. It is pure:
// there is no clock, client or logger in it, and the same facts give the same answer.
//
// [Decide] is given a [Snapshot], which is read from memory, and returns a [Decision] with one [Step]. What costs a call is a step
// whose answer is added to the snapshot before the next decision, so that a pass over a group reads downward: gather, then decide and
// carry out in turn.
package group
