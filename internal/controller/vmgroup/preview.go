package vmgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Preview is what the operator would make of a group.
type Preview struct {
	// VCenter is the name of the VCenter that the group uses.
	VCenter string
	// Denials are what grants and the MemberCluster refuse. While there are any, nothing else is said of the vCenter.
	Denials []policy.Denial
	// Known is false when the vCenter cannot be looked at or its inventory is not complete. Reason then says why, as a
	// sentence that a team may read, and the fields below are empty.
	Known  bool
	Reason string
	// TemplatePath is the inventory path of spec.template; TemplateMissing is true when there is no such template.
	TemplatePath    string
	TemplateMissing bool
	// Plan is what the planner would do next. Quotas are left out: they are granted to groups that exist.
	Plan plan.Plan
}

// Preview says what a pass over the group would do now. It reads memory: it asks no vCenter and no API server, and changes
// nothing. The group need not exist; it is not kept and not changed.
func (r *Reconciler) Preview(ctx context.Context, member string, of *v1alpha1.VmGroup) (Preview, error) {
	m, ok := r.Members(member)
	if !ok {
		return Preview{}, fmt.Errorf("member cluster %q is not connected", member)
	}
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return Preview{}, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	g := r.gatherer(cl, m, v1alpha1.Epoch{})
	g.violations = r.evaluate
	of = of.DeepCopy()
	of.Finalizers, of.Status.Ownership = []string{v1alpha1.VmGroupFinalizer}, nil
	s, err := g.gather(ctx, of)
	if err != nil {
		return Preview{}, err
	}
	s.Stranger, s.Quota = false, &group.QuotaAnswer{}
	preview := Preview{VCenter: s.VCenter, Denials: s.Names.Denials}
	if of.Spec.UserDataSecretRef != nil && s.UserDataDenied {
		preview.Denials = append(preview.Denials, group.UserDataDenial(s.Member))
	}
	if len(preview.Denials) > 0 {
		return preview, nil
	}
	if !s.Observation.Complete {
		preview.Reason = s.Observation.Incomplete
		return preview, nil
	}
	preview.Known, preview.TemplatePath, preview.TemplateMissing = true, s.Names.Template.Path, s.Names.TemplateMissing
	for {
		switch d := group.Decide(s); d.Step {
		case group.MakeFolder:
			s.FolderMade = &group.Attempt{}
		case group.ReadUserData:
			s.UserData = &group.UserDataAnswer{}
		default:
			preview.Plan = d.Plan
			return preview, nil
		}
	}
}

// evaluate is violations of a group that need not exist, so that nothing of it is remembered.
func (r *Reconciler) evaluate(ctx context.Context, q policy.Requester, of *v1alpha1.VmGroup, t template) ([]policy.Violation, error) {
	set, err := r.policies.get(ctx, r.Hub)
	if err != nil {
		return nil, err
	}
	return withTemplate(set, q, of, t, set.Evaluate(q, of.Spec, t.path)), nil
}
