// Package admitted records on the hub the spec that policies and quotas admitted last for each group.
//
// While the spec of a group is refused, the operator holds the group at the admitted spec, and repairs it in that shape. Status shows the admitted
// spec, but status comes from the API server of a member, which can return any value. So only the record on the hub counts.
//
// Records are ConfigMaps in the release namespace, several for each member, with one key for each group. A write is a merge patch of the keys of some
// groups, so that replicas write concurrently without a conflict. Only the owner of a group writes its key, as with its status. If a write of a
// former owner arrives late, the owner's next pass corrects it. Until then status, which has a lock, has fewer replicas: the lower of both numbers of
// replicas counts.
//
// If the record of a group is lost and its spec is allowed, the group gets a new record. If its spec is refused, the group keeps its VMs and gets no
// record until a hub administrator accepts the status.
package admitted
