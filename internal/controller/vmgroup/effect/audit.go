package effect

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// audit logs, once for each VM, that vCenter was asked to destroy it, the cause, and where to find the requester. The keys of
// the line are stable: docs/explanation/deletion.md lists them. A VM that vCenter failed to destroy before has its line already.
func (p *Pass) audit(ctx context.Context, s *group.Snapshot, action plan.Action) {
	again := slices.ContainsFunc(s.Observation.Failures, func(f vsphere.Failure) bool {
		return f.Kind == vsphere.OpDestroy && f.VM.Value == action.MoRef
	})
	if action.Kind != plan.DestroyVM || again {
		return
	}
	p.Metrics.Destroyed(s.Member, action.Removal)
	values := []any{
		"vm", action.Name, "moRef", action.MoRef, "vcenter", s.VCenter, "groupUID", s.Group.UID, "cause", action.Removal,
	}
	switch manager := p.Managers.behind(action.Removal); {
	case s.Group.DeletionTimestamp != nil:
		values = append(values, "fieldManager", manager, "deletionTimestamp", s.Group.DeletionTimestamp.UTC(),
			"user", "the audit log of the member's API server names who deleted the VmGroup")
	case manager == "":
		values = append(values, "fieldManager", manager, "user", "the audit log of the member's API server names who changed or scaled the VmGroup")
	default:
		values = append(values, "fieldManager", manager)
	}
	log.FromContext(ctx).Info("A VM is destroyed", values...)
}
