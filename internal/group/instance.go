package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// AnotherVCenter returns a blocker if the observation is from another vCenter than the one of the group's VMs in status, or nil. References are not valid there: every VM would
// look deleted, and would be cloned again.
//
// If every VM is in that vCenter, it is the same one: it has a new UUID, or a person wrote status by hand. accepted is the instance UUID that a hub administrator accepted for
// the VCenter, or empty. A status of an older version has no UUID and gets the current one.
func (s *Snapshot) AnotherVCenter(seen vsphere.Observation, accepted string) *plan.Blocker {
	known, here := s.Group.Status.VCenterInstanceUUID, seen.InstanceUUID
	if known == "" || here == "" || strings.EqualFold(known, here) || strings.EqualFold(accepted, here) || s.allHere(seen) {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonAnotherVCenter, Terminal: true, Message: fmt.Sprintf(
		"VCenter %q leads to another vCenter (instance %s) than the one that this group's VMs are in (instance %s). Nothing is done with the group. "+
			"Set the VCenter's spec.server to the former vCenter, or create a VCenter of this name for it. Only if those VMs are lost for good or were moved, "+
			"a hub administrator confirms the new vCenter: kubectl annotate vcenter %s %s=%s; then the operator clones the missing VMs again",
		s.VCenter, here, untrusted.Name(known), s.VCenter, v1alpha1.AcceptInstanceAnnotation, here)}
}

// allHere reports whether a VM of the group is visible for each one in status.
func (s *Snapshot) allHere(seen vsphere.Observation) bool {
	return !slices.ContainsFunc(s.Group.Status.VMs, func(known v1alpha1.VMStatus) bool {
		return !slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return s.stamped(vm) && vm.Stamp.Ordinal == known.Ordinal })
	})
}
