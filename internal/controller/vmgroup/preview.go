package vmgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
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
func (r *Reconciler) Preview(ctx context.Context, member string, group *v1alpha1.VmGroup) (Preview, error) {
	m, ok := r.Members(member)
	if !ok {
		return Preview{}, fmt.Errorf("member cluster %q is not connected", member)
	}
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return Preview{}, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	p := &pass{
		r: r, group: group.DeepCopy(), imagined: true, member: m, client: cl.GetClient(), now: r.Now(),
		id: vsphere.GroupID{Installation: r.Installation, Member: m.UID, Group: string(group.UID)},
	}
	p.planWith(group.Spec)
	res, err := p.resolve(ctx)
	if err != nil {
		return Preview{}, err
	}
	preview := Preview{VCenter: res.vcenter, Denials: res.denials}
	if group.Spec.UserDataSecretRef != nil && m.UserDataSecrets != v1alpha1.UserDataAllow {
		preview.Denials = append(preview.Denials, userDataDenial(m.Name))
	}
	if len(preview.Denials) > 0 {
		return preview, nil
	}
	if res.unavailable != nil {
		preview.Reason = res.unavailable.Message
		return preview, nil
	}
	observation := p.observe(res)
	if !observation.Complete {
		preview.Reason = observation.Incomplete
		return preview, nil
	}
	hold := policy.Hold{Spec: group.Spec}
	if !p.deleting() {
		hold = policy.Decide(p.judge(ctx, res, observation))
	}
	preview.Known, preview.TemplatePath, preview.TemplateMissing = true, res.template.Path, res.templateMissing
	if err := p.apply(ctx, &res, hold); err != nil {
		return Preview{}, err
	}
	preview.Plan = p.decide(res, observation)
	return preview, nil
}

func userDataDenial(member string) policy.Denial {
	return policy.Denial{
		Field:   "spec.userDataSecretRef",
		Message: fmt.Sprintf("MemberCluster %q does not allow user data Secrets; remove it, or ask the platform team to set userDataSecrets: Allow", member),
	}
}
