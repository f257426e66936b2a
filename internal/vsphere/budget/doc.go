// Package budget shares one vCenter's task slots between the groups that want to run tasks there.
//
// A group asks for slots (Acquire), turns each into a running task (Start) and gives back what it did not use
// (Grant.Release). The package knows nothing of vCenter: it counts.
//
// Who gets the free slots is decided by allocate, a pure function over a snapshot: slot after slot goes to the
// member that has the fewest, so that many groups of one member cannot starve those of another, and to the group of
// that member that has the fewest, so that a group of 500 VMs cannot starve a group of one. Equals take turns, the
// longest waiting first. The decision is made anew after every change, among the few that it can be about: an index has
// the groups that wait in order, since thousands may, and every call decides.
//
// What a group wanted and did not get is remembered. When a decision gives such a group slots, they are kept
// for it and it is notified; it claims them with its next Acquire. A richer group that asks in the meantime
// gets what is left. A group that does not come within the claim window loses its turn, though not its place:
// others are served as if it did not wait, until it asks again. So a group that went away blocks nobody, and
// a slow one is not pushed back for being slow. A timer watches the claim window; no other event is needed.
//
// Once a second group asks, be it for nothing, an eighth of the slots is headroom: a clone takes a slot of it only as
// its group's first. So a new group need not wait for the end of clones of another, which may take long and, started
// together, all end together. Tasks that are no clones are short and may use the headroom. A member that has fewer
// slots than another one that waits, by more than the headroom, may take it as well: that one could otherwise take all slots,
// one by one, with groups that are new.
//
// A group that lacks nothing, and only changes what it has, is behind those that hold nothing: it counts as if it held a slot more than it does.
// Else hundreds of groups that are edited at once would each take a first slot, and a new group would wait for all of them.
//
// A vCenter may have several budgets, one in each process that uses it; package share divides its limits between them.
// It reads what a budget could use (Usage) and sets how much of the limits it may (SetCaps). Headroom is then kept where
// a budget wants more than its part, and only there: what others leave idle can be had.
//
// A group whose task failed starts slowly: it may hold one slot, and twice as many after each success, until
// that no longer limits it. A broken template then costs one task at a time, not the whole budget.
package budget
