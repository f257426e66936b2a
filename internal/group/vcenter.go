package group

import (
	"cmp"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// defaultVCenter is the VCenter of groups that name none.
const defaultVCenter = "default"

// WantedVCenter returns the VCenter that a group's spec names.
func WantedVCenter(of *v1alpha1.VmGroup) string { return cmp.Or(of.Spec.VCenter, defaultVCenter) }

// VCenterOf returns the VCenter of a group: that of its VMs, even if spec has changed since, or else that of its spec.
func VCenterOf(of *v1alpha1.VmGroup) string { return cmp.Or(of.Status.VCenter, WantedVCenter(of)) }
