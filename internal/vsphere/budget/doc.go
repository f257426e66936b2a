// Package budget shares one vCenter's task slots between the groups that want to run tasks there.
//
// A group asks for slots (Acquire), turns each into a running task (Start) and gives back what it did not use
// (Grant.Release). The package knows nothing of vCenter: it counts.
//
// Who gets the free slots is decided by allocate, a pure function over a snapshot: slot after slot goes to the
// group that has the fewest, so that a group of 500 VMs cannot starve a group of one. Equals take turns, the
// longest waiting first. The decision is made anew after every change; nothing else has to be kept consistent.
//
// What a group wanted and did not get is remembered. When a decision gives such a group slots, they are kept
// for it and it is notified; it claims them with its next Acquire. A richer group that asks in the meantime
// gets what is left. A group that does not come within the claim window loses its turn, though not its place:
// others are served as if it did not wait, until it asks again. So a group that went away blocks nobody, and
// a slow one is not pushed back for being slow. A timer watches the claim window; no other event is needed.
//
// A group whose task failed starts slowly: it may hold one slot, and twice as many after each success, until
// that no longer limits it. A broken template then costs one task at a time, not the whole budget.
package budget
