// Package admitted keeps on the hub what policy and quota granted last to each group.
//
// While the spec of a group is refused, the group is held at what was granted before, and repaired in that shape. Status shows what that
// is, but a status is what the API server of a member says, and whoever answers there may say anything. So only what stands on the hub counts.
//
// Records are ConfigMaps in the release namespace, several for each member, with one key for each group. A write is a merge patch of the keys
// of some groups, so that replicas write beside each other without a conflict. Nobody but the owner of a group writes its key, as with its
// status. A write of a former owner that comes late is put right by the owner's next pass, and status, which has a lock, is lower until then:
// of both the lower number of replicas counts.
//
// Groups whose record is lost are not lost: one whose spec is allowed gets a new record, and one whose spec is refused keeps its VMs, and
// gets none, until a hub administrator accepts what status says.
package admitted
