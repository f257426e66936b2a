package fake

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Marked returns the countable properties of a group's VMs: see vsphere.Inventory.
func (s *Server) Marked(group vsphere.GroupKey) (all []vsphere.Marked) {
	s.mu.Lock()
	defer s.unlock()
	return s.marked()[group]
}

// MarkedGroups returns the groups with such VMs: see vsphere.Inventory.
func (s *Server) MarkedGroups() []vsphere.GroupKey {
	s.mu.Lock()
	defer s.unlock()
	return slices.Sorted(maps.Keys(s.marked()))
}

func (s *Server) marked() map[vsphere.GroupKey][]vsphere.Marked {
	all := map[vsphere.GroupKey][]vsphere.Marked{}
	for _, vm := range s.vms {
		if m, ok := vsphere.MarkedOf(vm); ok && s.below(vm.Folder) && !s.unreadVMs[vm.Ref] {
			key := keyOf(vm)
			all[key] = append(all[key], m)
		}
	}
	return all
}

func keyOf(vm *vsphere.VM) vsphere.GroupKey {
	if vm.Stamp != nil {
		return vm.Stamp.Key()
	}
	return vm.Released.Key()
}
