package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/webhook/forecast"
)

var errNoPolicies = errors.New("this replica of the operator has not read the VmGroupPolicies of the hub yet; try again in a few seconds")

// reviewer decides whether a group can change into another one. Creating, updating and scaling use the same rules.
type reviewer struct {
	knowledge Knowledge
	// edits can be nil.
	edits Edits
}

type review struct {
	refused field.ErrorList
	warnings
	// asks is true if the sender wants plan instead of sentences about it.
	asks bool
	plan inquiry.Plan
}

// answer returns the warnings for the sender.
func (said *review) answer() admission.Warnings {
	if !said.asks || len(said.refused) > 0 {
		return said.result()
	}
	return admission.Warnings{inquiry.Answer{Plan: said.plan, Notes: said.list}.Warning()}
}

// asks reports whether a request is a dry run of the plugin under this field manager.
func asks(req admission.Request, manager string) bool {
	return isDryRun(req) && managerOf(req) == manager
}

func isDryRun(req admission.Request) bool { return req.DryRun != nil && *req.DryRun }

// managerOf returns the field manager of a request, or "" if it is not known.
func managerOf(req admission.Request) string {
	var options metav1.PatchOptions
	_ = json.Unmarshal(req.Options.Raw, &options)
	return options.FieldManager
}

func (said *review) violations(refused, kept []policy.Violation) {
	for _, v := range refused {
		said.refused = append(said.refused, v.FieldError())
	}
	for _, v := range kept {
		said.add(v.Error())
	}
}

// change reviews the change of old, nil for a new group, into group. group has the namespace and status from the request;
// only the spec comes from the user.
func (r reviewer) change(ctx context.Context, old, group *v1alpha1.VmGroup) (review, error) {
	c := callOf(ctx)
	said := review{asks: c.asks}
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
	// Only requesters with a grant learn the path of a template, whether it exists, and what would happen to VMs.
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
	// The schema refuses it too, even if an edit is undone.
	said.hostname(old, group)
	if len(said.refused) > 0 {
		return said, nil
	}
	said.settings(old, group)
	if held {
		said.shrinks(old, group, preview.Plan)
	}
	if !held {
		said.add(forecast.NotDone(old, group, preview))
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

// settings warns about problems of spec alone, if the old spec did not have them. It does not depend on a vCenter.
func (said *review) settings(old, group *v1alpha1.VmGroup) {
	for _, problem := range []func(v1alpha1.VmGroupSpec) string{
		plan.NeverRepairs,
		func(spec v1alpha1.VmGroupSpec) string { return plan.LongHostname(group.Name, spec) },
	} {
		if old == nil || problem(atLeast(old.Spec, group.Spec)) == "" {
			said.add(problem(group.Spec)) // add ignores an empty sentence
		}
	}
}

// atLeast returns spec with the replicas of other if spec has none: a group that was scaled to zero is scaled up again.
func atLeast(spec, other v1alpha1.VmGroupSpec) v1alpha1.VmGroupSpec {
	if policy.UsageOf(spec).VMs == 0 {
		spec.Replicas = other.Replicas
	}
	return spec
}

// policies applies the policies that match the requester. unsaid is true if the template does not exist and no policy reports
// that.
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

// remind warns why a group is held, if an edit does not change its spec but, for example, its labels. Such an edit always
// passes, even if policies or the requester are unknown.
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

// movesVCenter refuses another VCenter for a group whose VMs are already in one. The schema compares spec with spec; it
// cannot resolve an empty spec.vcenter.
func movesVCenter(old, group *v1alpha1.VmGroup) *field.Error {
	if old == nil || old.Status.VCenter == "" || group.Spec.VCenter == "" || group.Spec.VCenter == old.Status.VCenter ||
		group.Spec.VCenter == old.Spec.VCenter {
		return nil
	}
	return field.Invalid(field.NewPath("spec", "vcenter"), group.Spec.VCenter, fmt.Sprintf(
		"the VMs of this group are in VCenter %q and do not move; create a new VmGroup instead", old.Status.VCenter))
}

// grants refuses objects that are not granted, if the change names them or adds VMs. Otherwise, it warns.
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

// asksElse reports whether the change affects the field of a denial.
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

func (said *review) hostname(old, group *v1alpha1.VmGroup) {
	if problem := plan.RefusedHostname(group.Name, specOf(old), group.Spec); problem != "" {
		said.refused = append(said.refused, field.Invalid(field.NewPath("spec", "guest", "hostname"), string(group.Spec.Guest.Hostname), problem))
	}
}

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

func grows(old, group *v1alpha1.VmGroup) bool {
	return policy.UsageOf(group.Spec).VMs > policy.UsageOf(old.Spec).VMs
}

// foretell adds warnings about what happens to the group.
func (said *review) foretell(old, group *v1alpha1.VmGroup, preview Preview) {
	if !preview.Known {
		reason := preview.Reason
		if reason == "" {
			reason = fmt.Sprintf("VCenter %q cannot be checked", preview.VCenter)
		}
		if said.plan.Unknown = reason; !said.asks {
			said.add("what this does in vCenter cannot be said now: " + reason)
		}
		return
	}
	said.tell(forecast.Of(old, group, preview), old == nil)
}

// tell adds what the operator does, as the sender wants it.
func (said *review) tell(p inquiry.Plan, isNew bool) {
	if said.asks {
		said.plan = p
		return
	}
	for _, sentence := range forecast.Sentences(p, isNew) {
		said.add(sentence)
	}
}
