package vmgroup

import (
	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// query asks for what status has recorded.
func query(id vsphere.GroupID, status *v1alpha1.VmGroupStatus) vsphere.Query {
	q := vsphere.Query{ID: id}
	if status.Folder != nil {
		q.Folder = vsphere.FolderRef(status.Folder.MoRef)
	}
	for _, vm := range status.VMs {
		if vm.MoRef != "" {
			q.Known = append(q.Known, vsphere.VMRef(vm.MoRef))
		}
	}
	return q
}

// known returns what status has recorded of VMs.
func known(status *v1alpha1.VmGroupStatus) []plan.Known {
	out := make([]plan.Known, 0, len(status.VMs))
	for _, vm := range status.VMs {
		k := plan.Known{
			Ordinal: vm.Ordinal, Incarnation: vm.Incarnation, MoRef: vm.MoRef, UUID: vm.UUID, Revision: vm.Revision,
			Phase: vm.Phase,
		}
		if vm.ReadySince != nil {
			k.ReadySince = vm.ReadySince.Time
		}
		out = append(out, k)
	}
	return out
}
