// Package budget shares one vCenter's task slots between the groups that want to run tasks there.
//
// A group requests slots (Acquire), turns each into a running task (Start) and returns unused ones (Grant.Release). The package only counts and
// does not use vCenter.
//
// The pure function allocate distributes the free slots from a snapshot. Each slot goes to the member with the fewest, so that many groups of
// one member cannot starve those of another. Within the member, it goes to the group with the fewest, so that a group of 500 VMs cannot starve a
// group of one. Equals take turns, the longest waiting first. Every change causes a new decision among the few relevant groups: an index keeps
// the waiting groups in order, because thousands can wait and every call decides.
//
// Unmet demand is remembered. If a decision gives slots to such a group, they are kept for it and it is notified. It claims them with its next
// Acquire. A richer group that asks meanwhile gets the rest. If a group does not claim within the claim window, it loses its turn but not its
// place: until it asks again, others are served as if it did not wait. So a group that left blocks no other, and a slow group is not penalized.
// A timer watches the claim window, and no other event is needed.
//
// After a second group has asked, even for zero, an eighth of the slots is headroom: a clone uses a slot of the headroom only as its group's
// first. So a new group need not wait for the clones of another group, which can take long and, if started together, end together. Tasks that
// are no clones are short and can use the headroom. A member can also use the headroom if another waiting member has more slots than it, by more
// than the headroom. Otherwise that other member could take all slots, one by one, with new groups.
//
// A group that lacks no VM and only changes its existing ones is behind those that hold nothing: it counts with one slot more than it holds.
// Otherwise hundreds of groups that are edited at once would each take a first slot, and a new group would wait for all of them.
//
// If several processes use a vCenter, each has its own budget, and package share divides the limits between them. It reads what a budget could
// use (Usage) and sets its share of the limits (SetCaps). Headroom is then kept only if a budget wants more than its share, so that slots that
// others leave idle can be used.
//
// A group whose task failed starts slowly: it can hold one slot, and twice as many after each success, until the window no longer limits it. A
// broken template thus costs one task at a time, not the whole budget.
package budget
