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
	p.r.Metrics.Destroyed(s.Member, s.VCenter, action.Removal)
	values := []any{
		"vm", action.Name, "moRef", action.MoRef, "vcenter", s.VCenter, "groupUID", s.Group.UID, "cause", action.Removal,
	}
	switch manager := p.managers.behind(action.Removal); {
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

// managers of the spec of a group in a cache.
type managers struct {
	// spec is who changed it last, replicas who set the number of VMs. Empty where the API server has recorded nobody.
	spec, replicas string
}

// managersOf reads what the caches keep of managed fields: first who changed spec last, then who set spec.replicas.
func managersOf(cached *v1alpha1.VmGroup) (m managers) {
	if kept := cached.ManagedFields; len(kept) == 2 {
		m.spec, m.replicas = kept[0].Manager, kept[1].Manager
	}
	return m
}

// behind is who may have wanted a removal. Empty where nobody knows.
func (m managers) behind(cause plan.RemovalCause) string {
	if cause == plan.RemovedByScaleDown {
		return m.replicas
	}
	return m.spec
}
