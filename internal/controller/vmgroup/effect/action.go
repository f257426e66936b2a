package effect

import (
	"context"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// submit submits one action.
func (p *Pass) submit(ctx context.Context, s *group.Snapshot, d group.Decision, action plan.Action) error {
	logOf(ctx, action).Info("Asking vCenter", "action", action.Kind, "vm", action.Name, "moRef", action.MoRef, "because", action.Reason)
	target := vsphere.Target{
		VM: vsphere.VMRef(action.MoRef), ID: s.ID, Ordinal: action.Ordinal, Namespace: s.Group.Namespace, ChangeVersion: action.ChangeVersion,
	}
	switch action.Kind {
	case plan.CreateVM:
		shape, known := d.Shape(action.Revision)
		if !known {
			return &vsphere.Error{Kind: vsphere.KindSpec, Op: fmt.Sprintf("clone a VM of revision %s, whose shape is unknown", action.Revision)}
		}
		return p.Server.Clone(ctx, cloneRequest(s, shape, action))
	case plan.PowerOnVM:
		return p.Server.PowerOn(ctx, target)
	case plan.PowerOffVM:
		return p.Server.PowerOff(ctx, target)
	case plan.ShutdownGuest:
		target.Within = action.Within
		return p.Server.ShutdownGuest(ctx, target)
	case plan.ReconfigureVM:
		r, err := reconfiguration(d, action, target)
		if err != nil {
			return err
		}
		return p.Server.Reconfigure(ctx, r)
	case plan.MarkVM:
		return p.Server.Mark(ctx, target)
	case plan.DestroyVM:
		return p.Server.Destroy(ctx, target)
	case plan.ReleaseVM:
		return p.Server.Release(ctx, target)
	case plan.RestampVM:
		target.ID.Installation = s.Predecessors.Agreed()
		return p.Server.Restamp(ctx, target, s.ID.Installation)
	case plan.CancelClone:
		return p.Server.CancelClone(ctx, s.ID.Key(), action.Ordinal)
	case plan.ClaimVM:
		return p.Server.Claim(ctx, adoption(s, action))
	case plan.MoveVM:
		return p.Server.Move(ctx, adoption(s, action))
	case plan.RenameVM:
		return p.Server.Rename(ctx, adoption(s, action))
	case plan.AdoptVM:
		return p.Server.Adopt(ctx, adoption(s, action))
	}
	return &vsphere.Error{Kind: vsphere.KindSpec, Op: "carry out " + string(action.Kind)}
}

// reconfiguration is the change of a VM. Existing VMs only get the shape of spec, once it is granted and allowed. A reason for which no VM can be cloned, such as an unfit
// template, does not prevent it: the VM can be off for the change already.
func reconfiguration(d group.Decision, action plan.Action, target vsphere.Target) (vsphere.Reconfiguration, error) {
	r := vsphere.Reconfiguration{Target: target, Revision: action.Revision, CPU: action.CPU, CoresPerSocket: action.CoresPerSocket, MemoryMiB: action.MemoryMiB, RootDiskGiB: action.RootDiskGiB, DataDisks: action.DataDisks, Identify: action.Identify}
	op := "change " + action.Name
	if action.Identify {
		return r, nil
	}
	if action.Revision != d.Revision || len(d.Names.Denials) > 0 {
		return r, &vsphere.Error{Kind: vsphere.KindSpec, Op: op, Err: fmt.Errorf("revision %s is not what spec asks for, or it is not allowed", action.Revision)}
	}
	if action.Network == nil {
		return r, nil
	}
	var wanted string
	if p := d.Spec.Placement; p != nil {
		wanted = p.Network
	}
	if r.Network = d.Names.Placement.Network; *action.Network != wanted || r.Network.IsZero() {
		return r, &vsphere.Error{Kind: vsphere.KindSpec, Op: op, Err: fmt.Errorf("spec.placement.network is %q, and %q was to be connected", wanted, *action.Network)}
	}
	return r, nil
}

// adoption is the request to the vSphere port to adopt a VM.
func adoption(s *group.Snapshot, action plan.Action) vsphere.Adoption {
	a := vsphere.Adoption{
		VM: vsphere.VMRef(action.MoRef), From: action.Origin, Folder: s.FolderRef(), Name: action.Name, ChangeVersion: action.ChangeVersion,
		Stamp: vsphere.Stamp{GroupID: s.ID, Ordinal: action.Ordinal, Revision: action.Revision, Epoch: vsphere.Epoch(s.Epoch), UUID: action.UUID},
	}
	if action.Kind == plan.ClaimVM {
		a.Mark = markOfLegacy(s, action)
	}
	if old := action.Origin.Stamp; old != nil {
		a.Stamp.CloneMode, a.Stamp.Created = old.CloneMode, old.Created
	}
	return a
}

// markOfLegacy is the mark of a VM of the original operator until it carries the stamp of the group.
func markOfLegacy(s *group.Snapshot, action plan.Action) vsphere.ReleaseMark {
	id := s.ID
	id.Group = s.Adoption.From
	return vsphere.ReleaseMark{GroupID: id, Namespace: s.Group.Namespace, Ordinal: action.Ordinal, Revision: action.Revision, UUID: action.UUID}
}
