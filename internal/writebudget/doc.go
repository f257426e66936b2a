// Package writebudget limits the writes on the hub that members cause, in bytes per second and member. The rate limits for reads of members are its
// counterpart.
//
// etcd keeps each version of an object until compaction, which API servers run every five minutes. By default etcd stops at 2 GiB. A user who edits
// groups in a loop must not fill etcd: without etcd the hub has no leases, and the operator serves no member.
//
// A waiting write blocks no worker: the pass ends, and its group is queued again. Each replica has its own budget for each member.
package writebudget
