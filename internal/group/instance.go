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

// AnotherVCenter says that this was observed at another vCenter than the one in which status knows the group's VMs, or returns nil.
// References mean nothing there: every VM would seem gone, and a second one would be cloned.
//
// It is no other one if each of the VMs is there: then it has a new UUID, or somebody wrote status by hand. accepted is the instance UUID
// that a hub administrator accepted for the VCenter, or empty. A status of an older version has no UUID and takes that of today.
func (s *Snapshot) AnotherVCenter(seen vsphere.Observation, accepted string) *plan.Blocker {
	known, here := s.Group.Status.VCenterInstanceUUID, seen.InstanceUUID
	if known == "" || here == "" || strings.EqualFold(known, here) || strings.EqualFold(accepted, here) || s.allHere(seen) {
		return nil
	}
	return &plan.Blocker{Reason: v1alpha1.ReasonAnotherVCenter, Terminal: true, Message: fmt.Sprintf(
		"VCenter %q leads to another vCenter (instance %s) than the one that this group's VMs are in (instance %s). Nothing is done with the group. "+
			"Let the VCenter's spec.server lead back, or create a VCenter of this name that does. Only if those VMs are lost for good, or were moved, "+
			"a hub administrator says so: kubectl annotate vcenter %s %s=%s; then VMs that are missing are cloned anew",
		s.VCenter, here, untrusted.Name(known), s.VCenter, v1alpha1.AcceptInstanceAnnotation, here)}
}

// allHere reports whether a VM of the group is seen for each one that status names.
func (s *Snapshot) allHere(seen vsphere.Observation) bool {
	return !slices.ContainsFunc(s.Group.Status.VMs, func(known v1alpha1.VMStatus) bool {
		return !slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return s.stamped(vm) && vm.Stamp.Ordinal == known.Ordinal })
	})
}
