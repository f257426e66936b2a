package inventory

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// counts answer without a scan of the index, because each pass of a group asks. They are updated when an entry changes.
type counts struct {
	// stamped is the number of VMs of this installation that are, or can be, below the root. owned has it by group, and here is the number of those that are
	// present.
	stamped, here int
	owned         map[vsphere.GroupKey]int
	// suspects are the objects that wait for a verdict.
	suspects map[vsphere.Ref]struct{}
}

// counted is how a VM is counted.
type counted struct {
	// owner is the group in owned, or "".
	owner vsphere.GroupKey
	here  bool
}

func newCounts() counts {
	return counts{owned: map[vsphere.GroupKey]int{}, suspects: map[vsphere.Ref]struct{}{}}
}

// recount updates the counts for a changed entry. The caller holds the lock.
func (x *Index) recount(e *vmEntry) {
	x.await(e.vm.Ref, e.state)
	is := counted{}
	if x.ours(e) && (e.state == Present || e.state == Suspect) {
		is = counted{e.vm.Stamp.Key(), e.state == Present}
	}
	was := e.counted
	if is == was {
		return
	}
	if e.counted = is; was.owner != is.owner {
		if was.owner != "" {
			x.stamped--
			if x.owned[was.owner]--; x.owned[was.owner] == 0 {
				delete(x.owned, was.owner)
			}
		}
		if is.owner != "" {
			x.stamped++
			x.owned[is.owner]++
		}
	}
	if was.here {
		x.here--
	}
	if is.here {
		x.here++
	}
}

// await updates the suspects for a changed object.
func (c *counts) await(ref vsphere.Ref, s State) {
	if s == Suspect {
		c.suspects[ref] = struct{}{}
	} else {
		delete(c.suspects, ref)
	}
}

// OwnedGroups returns the groups of the VMs that Stamped counts, unordered.
func (x *Index) OwnedGroups() []vsphere.GroupKey {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.AppendSeq(make([]vsphere.GroupKey, 0, len(x.owned)), maps.Keys(x.owned))
}

// Owned returns those VMs of these groups, unordered.
func (x *Index) Owned(groups ...vsphere.GroupKey) []vsphere.VM {
	x.mu.Lock()
	defer x.mu.Unlock()
	var owned []vsphere.VM
	for _, group := range groups {
		for ref := range x.byGroup[group] {
			if e := x.vms[ref]; e.counted.owner == group {
				owned = append(owned, clone(e.vm))
			}
		}
	}
	return owned
}

// Suspects returns the objects that wait for a verdict.
func (x *Index) Suspects() []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	refs := slices.Collect(maps.Keys(x.suspects))
	sortRefs(refs)
	return refs
}
