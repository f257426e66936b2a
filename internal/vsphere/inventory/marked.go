package inventory

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Marked returns the countable properties of a group's VMs: see vsphere.Inventory.
func (x *Index) Marked(group vsphere.GroupKey) []vsphere.Marked {
	x.mu.Lock()
	defer x.mu.Unlock()
	refs := x.byGroup[group]
	if len(refs) == 0 {
		return nil
	}
	all := make([]vsphere.Marked, 0, len(refs))
	for ref := range refs {
		if m, ok := vsphere.MarkedOf(&x.vms[ref].vm); ok {
			all = append(all, m)
		}
	}
	return all
}

// MarkedGroups returns the groups with such VMs, unordered.
func (x *Index) MarkedGroups() []vsphere.GroupKey {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.byGroup))
}
