package webhook

import (
	"context"
	"errors"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

var errNoPolicies = errors.New("this replica of the operator has not read the VmGroupPolicies of the hub yet; try again in a few seconds")

// reviewer says whether a group may become another one. Creating, updating and scaling are the same question.
type reviewer struct{ knowledge Knowledge }

// review is what is said of one change.
type review struct {
	refused field.ErrorList
	warnings
}

func (said *review) violations(refused, kept []policy.Violation) {
	for _, v := range refused {
		said.refused = append(said.refused, v.FieldError())
	}
	for _, v := range kept {
		said.add(v.Error())
	}
}

// change reviews the change of old, nil for a new group, into group. group carries the namespace and status of the request;
// only the spec is the user's word.
func (r reviewer) change(ctx context.Context, old, group *v1alpha1.VmGroup) (review, error) {
	var said review
	c := callOf(ctx)
	switch {
	case group.DeletionTimestamp != nil:
		return said, nil
	case old != nil && apiequality.Semantic.DeepEqual(old.Spec, group.Spec):
		r.remind(ctx, &said, group)
		return said, nil
	}
	if err := groupSizes(old, group); err != nil {
		said.refused = append(said.refused, err)
		return said, nil
	}
	policies, ok := r.knowledge.Policies(ctx)
	if !ok {
		return said, c.unavailable(errNoPolicies)
	}
	requester, err := r.knowledge.Requester(ctx, c.member, group.Namespace)
	if err != nil {
		return said, c.unavailable(err)
	}
	preview, err := r.knowledge.Preview(ctx, c.member, group)
	if err != nil {
		return said, c.unavailable(err)
	}
	// Where a template is, whether it exists and what would become of VMs is told to those only who may know.
	if len(preview.Denials) > 0 {
		preview = Preview{
			VCenter: preview.VCenter, Denials: preview.Denials, Standing: preview.Standing, NotDone: preview.NotDone, Plan: plan.Plan{VMs: preview.Plan.VMs, Doomed: preview.Plan.Doomed},
		}
	}
	if err := movesVCenter(old, group); err != nil {
		said.refused = append(said.refused, err)
	}
	said.defaulted(policies, requester, old, group)
	unsaid := said.policies(policies, requester, old, group, preview)
	said.violations(policy.Split(r.knowledge.Quota(ctx, requester, old, group)))
	said.grants(old, group, preview.Denials)
	held := undoes(old, group, preview) && said.forgive(group, preview.Standing)
	// The schema refuses it too, also where an edit is taken back.
	said.hostname(old, group)
	if len(said.refused) > 0 {
		return said, nil
	}
	said.settings(old, group)
	if held {
		said.shrinks(old, group, preview.Plan)
	}
	if !held {
		said.add(notDone(old, group, preview))
	}
	if len(preview.Denials) > 0 || held {
		return said, nil
	}
	if unsaid && (old == nil || grows(old, group) || asksElse("spec.template", old, group)) {
		said.add(fmt.Sprintf("spec.template: %q does not exist in VCenter %q; VMs are cloned once it does", group.Spec.Template, preview.VCenter))
	}
	said.foretell(old, group, preview)
	return said, nil
}

// settings warns of what spec alone tells, if it was not so before. It does not depend on a vCenter.
func (said *review) settings(old, group *v1alpha1.VmGroup) {
	for _, problem := range []func(v1alpha1.VmGroupSpec) string{
		plan.NeverRepairs,
		func(spec v1alpha1.VmGroupSpec) string { return plan.LongHostname(group.Name, spec) },
	} {
		if old == nil || problem(atLeast(old.Spec, group.Spec)) == "" {
			said.add(problem(group.Spec)) // nothing for an empty sentence
		}
	}
}

// atLeast is a spec for no VMs with as many as another wants: a group that was scaled to zero comes back.
func atLeast(spec, other v1alpha1.VmGroupSpec) v1alpha1.VmGroupSpec {
	if policy.UsageOf(spec).VMs == 0 {
		spec.Replicas = other.Replicas
	}
	return spec
}

// policies reviews by the policies that hold for the requester. unsaid is true when the template does not exist and no policy
// has anything to say about that.
func (said *review) policies(set *policy.Set, requester policy.Requester, old, group *v1alpha1.VmGroup, preview Preview) (unsaid bool) {
	before := specOf(old)
	if old == nil {
		said.violations(policy.Split(set.Evaluate(requester, group.Spec, preview.TemplatePath)))
	} else {
		said.violations(set.EvaluateUpdate(requester, old.Spec, group.Spec, preview.TemplatePath))
	}
	said.violations(set.Retained(requester, before, group.Spec))
	if !preview.TemplateMissing {
		return false
	}
	refused, kept := set.MissingTemplate(requester, before, group.Spec, preview.VCenter)
	said.violations(refused, kept)
	return len(refused)+len(kept) == 0
}

// remind warns of what a group is held for that is edited without a change of its spec: its labels, say. Such an edit always
// passes, whatever is not known.
func (r reviewer) remind(ctx context.Context, said *review, group *v1alpha1.VmGroup) {
	policies, ok := r.knowledge.Policies(ctx)
	if !ok || groupSize(group) != nil {
		return
	}
	requester, err := r.knowledge.Requester(ctx, callOf(ctx).member, group.Namespace)
	if err != nil {
		return
	}
	said.violations(policies.EvaluateUpdate(requester, group.Spec, group.Spec, ""))
	said.violations(policies.Retained(requester, &group.Spec, group.Spec))
}

// movesVCenter refuses another VCenter for a group whose VMs are in one already. The schema compares spec with spec; it
// cannot see what an empty spec.vcenter stood for.
func movesVCenter(old, group *v1alpha1.VmGroup) *field.Error {
	if old == nil || old.Status.VCenter == "" || group.Spec.VCenter == "" || group.Spec.VCenter == old.Status.VCenter ||
		group.Spec.VCenter == old.Spec.VCenter {
		return nil
	}
	return field.Invalid(field.NewPath("spec", "vcenter"), group.Spec.VCenter, fmt.Sprintf(
		"the VMs of this group are in VCenter %q and do not move; create a new VmGroup instead", old.Status.VCenter))
}

// grants refuses what is not granted, where the change asks for it or for more of it. What was there before is kept.
func (said *review) grants(old, group *v1alpha1.VmGroup, denials []policy.Denial) {
	for _, denial := range denials {
		err := &field.Error{Type: field.ErrorTypeForbidden, Field: denial.Field, Detail: denial.Message}
		if old == nil || grows(old, group) || asksElse(denial.Field, old, group) {
			said.refused = append(said.refused, err)
		} else {
			said.add(err.Error())
		}
	}
}

// asksElse says whether the change touches what a denial is about.
func asksElse(name string, old, group *v1alpha1.VmGroup) bool {
	was, now := placementOf(old), placementOf(group)
	switch name {
	case "spec.vcenter":
		return old.Spec.VCenter != group.Spec.VCenter
	case "spec.template":
		return old.Spec.Template != group.Spec.Template
	case "spec.placement.resourcePool":
		return was.ResourcePool != now.ResourcePool
	case "spec.placement.datastore":
		return was.Datastore != now.Datastore
	case "spec.placement.network":
		return was.Network != now.Network
	case "spec.userDataSecretRef":
		return group.Spec.UserDataSecretRef != nil && !apiequality.Semantic.DeepEqual(old.Spec.UserDataSecretRef, group.Spec.UserDataSecretRef)
	}
	return true
}

// hostname refuses host names that guests cannot have.
func (said *review) hostname(old, group *v1alpha1.VmGroup) {
	if problem := plan.RefusedHostname(group.Name, specOf(old), group.Spec); problem != "" {
		said.refused = append(said.refused, field.Invalid(field.NewPath("spec", "guest", "hostname"), string(group.Spec.Guest.Hostname), problem))
	}
}

// specOf is the spec of a group, or nil without one.
func specOf(group *v1alpha1.VmGroup) *v1alpha1.VmGroupSpec {
	if group == nil {
		return nil
	}
	return &group.Spec
}

func placementOf(group *v1alpha1.VmGroup) v1alpha1.Placement {
	if group.Spec.Placement == nil {
		return v1alpha1.Placement{}
	}
	return *group.Spec.Placement
}

// grows says whether there are to be more VMs.
func grows(old, group *v1alpha1.VmGroup) bool {
	return policy.UsageOf(group.Spec).VMs > policy.UsageOf(old.Spec).VMs
}

// foretell says what becomes of the group.
func (said *review) foretell(old, group *v1alpha1.VmGroup, preview Preview) {
	if !preview.Known {
		reason := preview.Reason
		if reason == "" {
			reason = fmt.Sprintf("VCenter %q cannot be looked at", preview.VCenter)
		}
		said.add("what this does in vCenter cannot be said now: " + reason)
		return
	}
	for _, sentence := range forecast(old, group, preview) {
		said.add(sentence)
	}
}
