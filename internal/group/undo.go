package group

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// standing returns the number of VMs with the revision of spec that do not leave, by their stamps in vCenter. While vCenter is not visible, it uses status. The number then
// affects only messages, because no action is taken.
func (s *Snapshot) standing() (n int32) {
	if s.Observation.Complete {
		seen := map[int32]bool{} // a copy of a VM does not count
		for i := range s.Observation.VMs {
			vm := &s.Observation.VMs[i]
			if s.stamped(*vm) && !vm.Tombstone && vm.Stamp.Revision == s.Revision && !seen[vm.Stamp.Ordinal] && !slices.Contains(s.Group.Status.Deleting, vm.Stamp.Ordinal) {
				seen[vm.Stamp.Ordinal] = true
				n++
			}
		}
		return n
	}
	for i := range s.Group.Status.VMs {
		switch vm := &s.Group.Status.VMs[i]; {
		case vm.MoRef == "", vm.Revision != s.Revision, vm.Phase == v1alpha1.VMDeleting, vm.Phase == v1alpha1.VMLost:
		default:
			n++
		}
	}
	return n
}
