// Package writebudget bounds what members can make the operator write on the hub, in bytes a second and member. It is the counterpart of the pace
// at which members are read.
//
// etcd keeps each version of an object whole until it is compacted, which API servers do every five minutes, and stops at 2 GiB by default. A user who
// edits groups in a loop must not fill it: without etcd the hub has no leases, and the operator serves no member.
//
// A write that waits blocks nobody: the pass ends, and its group is queued again. Each replica has a budget of its own for each member.
package writebudget
