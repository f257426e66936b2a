// Package quota lets groups grow under the quotas of VmGroupPolicies. Together the groups never get more than a quota allows, whichever replica of
// the operator manages which group.
//
// Ledgers record the grants: for each total a ConfigMap in the release namespace, with an entry for each group that counts in it. A group grows only
// after a write of its entry in each of its totals, one after the other. Each write replaces exactly the ledger version of its decision, so the order
// of the writes is the order of the grants. Requests that arrive during a write are combined in the next one, so that a thousand new groups do not
// need a thousand writes.
//
// The UID of one more ConfigMap, the head, names the ledgers that count. If the head is deleted, its ledgers no longer count.
//
// The operator never takes back a grant. The holder of a group gives back quota after the group has shrunk or was deleted, and after it has read the
// group afresh. The leader gives back the quota of groups without a holder. An entry carries the epoch of the shard that wrote it, so that a former
// holder cannot give back a grant of its successor.
//
// Before a grant, all groups of all served members must be in the ledger. A lost ledger, and the ledger of a new quota, is filled from
// status.admitted. A total over several members also needs the unreachable members: they count with their entries in the ledger, and a member that
// was never counted makes the quota unavailable.
//
// VMs of groups that are in no cache also count: those of unreachable members, and those of deleted groups. Before a grant, their entries are created
// or raised to what exists. The entry of a group that is confirmed as deleted becomes its remaining usage, up or down.
//
// A ledger from a backup is corrected in the same way. An entry that is lower than the group's usage is raised before a grant. A higher entry can be
// an old grant whose quota now belongs to others. It is doubted until its holder has claimed it again, or has given back all that the group does not
// hold.
//
// A group whose entry covers it costs no call. While the hub is unreachable, no group grows.
package quota
