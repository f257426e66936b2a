package fleet

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// DeleteMember drops the groups of a member that is gone for good.
func (f *Fleet) DeleteMember(member string) {
	f.mu.Lock()
	delete(f.listed, member)
	f.mu.Unlock()
	f.KeepOnly(member, nil)
	f.mu.Lock()
	delete(f.guards, member)
	f.mu.Unlock()
}

// dropped is one object of a member: an API server that lies can show two with one UID.
type dropped struct {
	key vsphere.GroupKey
	ref Ref
}

// KeepOnly drops the groups of a member that are not these: they were deleted while no watch was open.
func (f *Fleet) KeepOnly(member string, these map[Ref]vsphere.GroupKey) {
	f.mu.Lock()
	gone := map[dropped]Group{}
	for ref, key := range f.keys {
		if is, exists := these[ref]; ref.Member != member || exists && is == key {
			continue
		}
		delete(f.keys, ref)
		gone[dropped{key, ref}] = Group{Ref: ref, VCenter: f.groups[key].VCenter}
	}
	for key, g := range f.groups { // also those that vanished; see KeepVanished
		if g.Ref.Member == member && f.keys[g.Ref] != key {
			f.take(key)
			gone[dropped{key, g.Ref}] = g
		}
	}
	f.mu.Unlock()
	for of, g := range gone {
		f.On.Gone(of.key, g)
	}
	if len(gone) > 0 {
		f.On.Counted(member)
	}
}

// List records that all groups of a member are known now.
func (f *Fleet) List(member string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed[member] = struct{}{}
}

// Listed reports whether all groups of these members are known, provided that they are engaged.
func (f *Fleet) Listed(members ...string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(members, func(member string) bool {
		_, listed := f.listed[member]
		return !listed
	})
}

// ListedMembers returns the members whose groups are all known.
func (f *Fleet) ListedMembers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.listed))
}

// CountMember returns the number of groups of a member, and of their VMs.
func (f *Fleet) CountMember(member string) (groups, vms int) {
	for _, g := range f.In(Scope{Member: member}) {
		groups++
		vms += g.VMs
	}
	return groups, vms
}
