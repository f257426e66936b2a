package vmgroup

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// audit tells, once for each VM, that vCenter was asked to destroy it, why, and who can know who wanted that. The keys of the line are stable:
// docs/vmgroup.md lists them. One that vCenter failed to destroy before was told of then.
func (p *pass) audit(ctx context.Context, s *group.Snapshot, action plan.Action) {
	again := slices.ContainsFunc(s.Observation.Failures, func(f vsphere.Failure) bool {
		return f.Kind == vsphere.OpDestroy && f.VM.Value == action.MoRef
	})
	if action.Kind != plan.DestroyVM || again {
		return
	}
	vmsDestroyed.WithLabelValues(s.Member, s.VCenter, string(action.Cause)).Inc()
	values := []any{
		"vm", action.Name, "moRef", action.MoRef, "vcenter", s.VCenter, "groupUID", s.Group.UID, "cause", action.Cause,
		"fieldManager", p.specManager,
	}
	if d := s.Group.DeletionTimestamp; d != nil {
		values = append(values, "deletionTimestamp", d.UTC(), "user", "the audit log of the member's API server names who deleted the VmGroup")
	}
	log.FromContext(ctx).Info("A VM is destroyed", values...)
}

// lastSpecManager is who changed the spec of a group in a cache last, or empty. Caches keep no other entry: see keepLastSpecManager.
func lastSpecManager(cached *v1alpha1.VmGroup) string {
	if len(cached.ManagedFields) == 0 {
		return ""
	}
	return cached.ManagedFields[0].Manager
}
