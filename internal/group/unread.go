package group

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// unread reports that VMs in the group's folder can be the group's, or returns nil. A clone from right before the operator ended looks like a VM that a person put there, while
// the host of either is unreachable. No VM can be cloned in its place, and its group is not deleted. The data of the other VMs is not in doubt.
func (s *Snapshot) unread() *plan.Blocker {
	if len(s.Observation.Unread) == 0 {
		return nil
	}
	names := make([]string, 0, len(s.Observation.Unread))
	for _, vm := range s.Observation.Unread {
		names = append(names, fmt.Sprintf("%s (%s)", untrusted.Name(vm.Name), vm.Ref.Value))
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonInventoryIncomplete, Message: fmt.Sprintf(
		"vCenter does not show the configuration of VMs in the group's folder, so their owner is unknown: %s. Until vCenter shows it, no VM is cloned, "+
			"and a deleted group stays. Bring their host or their storage back, or delete in vCenter what a failed clone has left", list(names, 10))}
}
