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
		"fieldManager", p.managers.behind(action.Cause),
	}
	if d := s.Group.DeletionTimestamp; d != nil {
		values = append(values, "deletionTimestamp", d.UTC(), "user", "the audit log of the member's API server names who deleted the VmGroup")
	}
	log.FromContext(ctx).Info("A VM is destroyed", values...)
}

// managers of the spec of a group in a cache.
type managers struct {
	// spec is who changed it last, replicas who set the number of VMs. Empty where nobody knows.
	spec, replicas string
}

// managersOf reads what the caches keep: see keepSpecManagers.
func managersOf(cached *v1alpha1.VmGroup) (m managers) {
	if kept := cached.ManagedFields; len(kept) > 0 {
		m.spec, m.replicas = kept[0].Manager, kept[len(kept)-1].Manager
	}
	return m
}

// behind is who may have wanted a removal.
func (m managers) behind(cause plan.RemovalCause) string {
	if cause == plan.RemovedByScaleDown {
		return m.replicas
	}
	return m.spec
}
