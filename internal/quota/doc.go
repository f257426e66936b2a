// Package quota lets groups grow under the quotas of VmGroupPolicies, so that together they never get more than there
// is, whichever replica of the operator looks after which group.
//
// What was granted stands in ledgers: for each total a ConfigMap in the release namespace, with an entry for each group that
// counts in it. A group grows only after a write of its entry in each of its totals, one after the other. Each write replaces exactly the
// version of the ledger that was decided on, so their order is the order of the grants. Requests that come while a write is under way
// go into the next one together, so that a thousand new groups do not need a thousand writes.
//
// The UID of one more ConfigMap, the head, names the ledgers that count. Those of a head that was deleted do not.
//
// What was granted is never taken back. A group gives back by itself, when it has shrunk or is gone: its holder does,
// after it has read the group afresh, and the leader for groups that nobody holds any more. An entry carries the epoch
// of the shard that wrote it, so that a former holder cannot give back what its successor was granted.
//
// Before anything is granted, all groups of all members that are served have to be in the ledger: one that was lost, and
// the ledger of a new quota, is filled from status.admitted. A total over several members also needs those that are
// away: they count with what stands in the ledger, and one that was never counted makes the quota unavailable.
//
// What exists of groups that no cache has counts as well: of members that are away, and VMs whose group is gone. Their entries are raised to it, or made,
// before anything is granted; those of groups that are certainly gone become what is left, up or down.
//
// A ledger from a backup is corrected in the same way. An entry that is lower than what its group has is raised before anything is
// granted. One that is higher may be a grant of long ago, which others have now: it is doubted until its holder has
// claimed it anew, or has given back all that the group does not hold.
//
// A group whose entry covers it costs no call. While the hub cannot be reached nothing grows.
package quota
