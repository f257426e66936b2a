package fleet

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// vcenter is the data about VMs in one vCenter whose group does not exist.
type vcenter struct {
	// orphans are the missing groups of these VMs, by member.
	orphans map[string][]orphans.Group
	// undecided are the members that have VMs of which it is not known yet whether their groups exist.
	undecided sets.Set[string]
	// until is how long orphans count as complete; after that, the inventory must be checked again.
	until time.Time
}

// Absent reports whether a group does not exist. known is false if its member is not engaged or does not respond.
func (f *Fleet) Absent(key vsphere.GroupKey) (absent, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, exists := f.groups[key]
	_, serves := f.serving[key.Member()]
	return serves && !exists, serves || exists
}

// SetVCenter records that a VCenter exists. Until its orphans are set, any member can have orphans there.
func (f *Fleet) SetVCenter(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.vcenters[name] == nil {
		f.vcenters[name] = &vcenter{}
	}
}

// DeleteVCenter drops a VCenter that does not exist any more.
func (f *Fleet) DeleteVCenter(name string) {
	f.setOrphans(name, nil)
}

// SetOrphans records the groups that do not exist but have VMs in the vCenter of an existing VCenter. Until the
// given time, these count as all of them, except for undecided members.
func (f *Fleet) SetOrphans(name string, of []orphans.Group, undecided sets.Set[string], until time.Time) {
	is := &vcenter{orphans: map[string][]orphans.Group{}, undecided: undecided, until: until}
	for _, g := range of {
		if g.Member != "" {
			is.orphans[g.Member] = append(is.orphans[g.Member], g)
		}
	}
	f.setOrphans(name, is)
}

// setOrphans records the data of a VCenter, nil for a deleted one, and delivers the members whose orphans changed.
func (f *Fleet) setOrphans(name string, is *vcenter) {
	f.mu.Lock()
	before, after := map[string][]orphans.Group{}, map[string][]orphans.Group{}
	if was := f.vcenters[name]; was != nil {
		before = was.orphans
	}
	switch {
	case is == nil:
		delete(f.vcenters, name)
	case f.vcenters[name] == nil: // it was deleted meanwhile
	default:
		f.vcenters[name], after = is, is.orphans
	}
	f.mu.Unlock()
	var changed []string
	for member, groups := range after {
		if !sameOrphans(before[member], groups) {
			changed = append(changed, member)
		}
	}
	for member := range before {
		if _, still := after[member]; !still {
			changed = append(changed, member)
		}
	}
	slices.Sort(changed)
	deliver(f, &f.sinks.members, Changed, changed...)
}

func sameOrphans(a, b []orphans.Group) bool {
	return slices.EqualFunc(a, b, func(a, b orphans.Group) bool {
		return a.Key == b.Key && slices.Equal(a.VMs, b.VMs)
	})
}

// Orphans returns the groups of a member that do not exist any more and have VMs in any vCenter. known is false if
// there are possibly more.
func (f *Fleet) Orphans(member string) (groups []orphans.Group, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known = true
	for _, name := range slices.Sorted(maps.Keys(f.vcenters)) {
		is := f.vcenters[name]
		known = known && f.clock.Now().Before(is.until) && !is.undecided.Has(member)
		groups = append(groups, is.orphans[member]...)
	}
	return groups, known
}
