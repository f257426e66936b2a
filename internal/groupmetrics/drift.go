package groupmetrics

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// drifts lists the kinds of outside changes to VMs between two statuses. seen are the VMs in vCenter.
func drifts(old, next *v1alpha1.VmGroupStatus, seen []vsphere.VM) (kinds []string) {
	before := make(map[int32]*v1alpha1.VMStatus, len(old.VMs))
	for i := range old.VMs {
		before[old.VMs[i].Ordinal] = &old.VMs[i]
	}
	for i := range next.VMs {
		is := &next.VMs[i]
		was := before[is.Ordinal]
		if was == nil || was.MoRef == "" || slices.Contains(old.Deleting, is.Ordinal) {
			continue
		}
		if kind := drift(was, is, seen); kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// drift returns the kind of an outside change to a VM, or "".
func drift(was, is *v1alpha1.VMStatus, seen []vsphere.VM) string {
	lost := was.Phase == v1alpha1.VMLost
	switch {
	case !lost && (is.Incarnation > was.Incarnation || is.Phase == v1alpha1.VMLost):
		return "deleted"
	case lost || is.Phase != v1alpha1.VMUnhealthy || was.MoRef != is.MoRef || is.Updating:
		return ""
	case was.Phase != v1alpha1.VMUnhealthy && slices.ContainsFunc(seen, func(vm vsphere.VM) bool { return vm.Ref.Value == is.MoRef && !vm.Connected() }):
		return "host_lost"
	case was.PowerState == is.PowerState:
		return ""
	}
	switch vsphere.PowerState(is.PowerState) {
	case vsphere.PoweredOff:
		return "powered_off"
	case vsphere.Suspended:
		return "suspended"
	case vsphere.PoweredOn:
		if was.Phase == v1alpha1.VMStopped {
			return "powered_on"
		}
	}
	return ""
}
