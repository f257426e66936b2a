package vsphere

import "strings"

// GroupID identifies a VmGroup for ever: a group that is re-created under its old name has another one.
type GroupID struct {
	// Installation is the UID of the operator's installation.
	Installation string
	// Member is the UID of the member cluster.
	Member string
	// Group is the UID of the VmGroup.
	Group string
}

// SameGroup reports whether both name one VmGroup, whichever installation serves it.
func (id GroupID) SameGroup(other GroupID) bool {
	return id.Member == other.Member && id.Group == other.Group
}

// Key of the group.
func (id GroupID) Key() GroupKey { return KeyOf(id.Member, id.Group) }

// GroupKey tells VmGroups apart, whichever installation serves them. Whatever is remembered of a group is kept by it: the group's UID alone
// is what the API server of its member says, and the one of another member can say the same.
type GroupKey string

// KeyOf returns the key of a group, given the UID of its member cluster and its own. No member has a slash in its UID: the hub pins none
// that has.
func KeyOf(member, group string) GroupKey { return GroupKey(member + "/" + group) }

// Member is the UID of the group's cluster.
func (k GroupKey) Member() string {
	member, _, _ := strings.Cut(string(k), "/")
	return member
}

// Group is the UID of the group.
func (k GroupKey) Group() string {
	_, group, _ := strings.Cut(string(k), "/")
	return group
}
