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

// toPlan turns an observation of vCenter into the planner's values.
func toPlan(o vsphere.Observation, id vsphere.GroupID, folder vsphere.Ref) plan.Observation {
	out := plan.Observation{Complete: o.Complete, Incomplete: o.Incomplete}
	for _, vm := range o.VMs {
		out.VMs = append(out.VMs, vmToPlan(vm, id, folder))
	}
	for _, ref := range o.Gone {
		out.Gone = append(out.Gone, ref.Value)
	}
	for _, ref := range o.Elsewhere {
		out.Elsewhere = append(out.Elsewhere, ref.Value)
	}
	for _, op := range o.InFlight {
		out.InFlight = append(out.InFlight, plan.Operation{
			Kind: plan.OperationKind(op.Kind), Ordinal: op.Ordinal, MoRef: op.VM.Value,
			Since: op.Since, OutcomeUnknown: op.OutcomeUnknown,
		})
	}
	for _, f := range o.Failures {
		reason, terminal := explain(f.Err)
		out.Failures = append(out.Failures, plan.Failure{
			Kind: plan.OperationKind(f.Kind), Ordinal: f.Ordinal,
			Reason: reason, Message: f.Err.Error(), Terminal: terminal, RetryAt: f.RetryAt, Revision: f.Revision,
		})
	}
	return out
}

func vmToPlan(vm vsphere.VM, id vsphere.GroupID, folder vsphere.Ref) plan.VM {
	out := plan.VM{
		MoRef: vm.Ref.Value, Name: vm.Name, UUID: vm.InstanceUUID,
		InFolder:  !folder.IsZero() && vm.Folder == folder,
		Tombstone: vm.Tombstone, Power: plan.Power(vm.Power), Connected: vm.Connected,
		HeartbeatGreen: vm.HeartbeatGreen, ToolsRunning: vm.ToolsRunning, IP: vm.GuestIP,
		ChangeVersion: vm.ChangeVersion,
	}
	if s := vm.Stamp; s != nil && s.GroupID == id {
		out.Stamp = &plan.Stamp{
			Ordinal: s.Ordinal, Incarnation: s.Incarnation, Revision: s.Revision,
			CloneMode: v1alpha1.CloneMode(s.CloneMode), Created: s.Created,
		}
	}
	return out
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

// explain maps an error of vCenter to a condition reason, and says whether somebody has to act.
func explain(err error) (reason string, terminal bool) {
	switch vsphere.KindOf(err) {
	case vsphere.KindSpec:
		return v1alpha1.ReasonOperationFailed, true
	case vsphere.KindPermission:
		return v1alpha1.ReasonPermissionDenied, true
	case vsphere.KindCapacity:
		return v1alpha1.ReasonOutOfCapacity, false
	case vsphere.KindNameTaken:
		return v1alpha1.ReasonNameConflict, false
	case vsphere.KindNotTemplate:
		return v1alpha1.ReasonNotATemplate, true
	case vsphere.KindCredentials, vsphere.KindCertificate:
		return v1alpha1.ReasonVCenterUnreachable, false
	default:
		return v1alpha1.ReasonOperationFailed, false
	}
}
