package fleet

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

type member struct {
	Member
	// names are the groups by name, spaces by namespace.
	names  map[Ref]vsphere.GroupKey
	spaces index[string]
	// groups and vms are their numbers.
	groups, vms int
	// listed is true if all groups are known, or were when the member was last engaged.
	listed bool
	// breaker detects a mass deletion.
	breaker *massdeletion.Breaker
	// confirmed are the namespaces whose removals are confirmed.
	confirmed map[string]struct{}
}

// visit visits the groups of a namespace, or of all if it is empty.
func (m *member) visit(namespace string, visit func(keySet)) {
	if namespace != "" {
		visit(m.spaces[namespace])
		return
	}
	for _, keys := range m.spaces {
		visit(keys)
	}
}

// member returns the data of a member, and creates it if needed. The caller holds the lock.
func (f *Fleet) member(name string) *member {
	m := f.members[name]
	if m == nil {
		m = &member{names: map[Ref]vsphere.GroupKey{}, spaces: index[string]{}, breaker: massdeletion.New(f.rules), confirmed: map[string]struct{}{}}
		f.members[name] = m
	}
	return m
}

// DeleteMember drops a member whose MemberCluster does not exist any more, with its groups.
func (f *Fleet) DeleteMember(name string) {
	f.KeepOnly(name, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[name]; m != nil && f.serving[m.UID] == name {
		delete(f.serving, m.UID)
	}
	delete(f.members, name)
}

// KeepOnly drops all other groups of a member: they were deleted while no watch was open.
func (f *Fleet) KeepOnly(name string, these map[Ref]vsphere.GroupKey) {
	f.mu.Lock()
	gone := map[Departed]struct{}{}
	m := f.member(name)
	for ref, key := range m.names {
		if is, exists := these[ref]; exists && is == key {
			continue
		}
		delete(m.names, ref)
		gone[Departed{ref, key, f.groups[key].VCenter}] = struct{}{}
	}
	for _, keys := range m.spaces {
		for key := range keys { // including those that vanished; see KeepVanished
			if g := f.groups[key]; m.names[g.Ref] != key {
				f.take(key)
				gone[Departed{g.Ref, key, g.VCenter}] = struct{}{}
			}
		}
	}
	f.mu.Unlock()
	deliver(f, &f.sinks.departed, Changed, slices.Collect(maps.Keys(gone))...)
	if len(gone) > 0 {
		deliver(f, &f.sinks.members, Changed, name)
	}
}

// List records that all groups of a member are known now.
func (f *Fleet) List(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.member(name).listed = true
}

// Listed reports whether all groups of these members are known, provided that they are engaged.
func (f *Fleet) Listed(names ...string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(names, func(name string) bool {
		m := f.members[name]
		return m == nil || !m.listed
	})
}

// ListedMembers returns the members whose groups are all known.
func (f *Fleet) ListedMembers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.members)), func(name string) bool { return !f.members[name].listed })
}

// Tally has the counts of a member.
type Tally struct {
	Groups, VMs int
	// Held are the groups that report that they are held, and the VMs that they would remove.
	Held massdeletion.Held
}

// Tally returns the counts of a member.
func (f *Fleet) Tally(name string) Tally {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[name]; m != nil {
		return Tally{Groups: m.groups, VMs: m.vms, Held: m.breaker.Held()}
	}
	return Tally{}
}
