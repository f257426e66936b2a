package webhook

import (
	"context"
	"errors"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

var errNoPolicies = errors.New("this replica of the operator has not read the VmGroupPolicies of the hub yet; try again in a few seconds")

// judge says whether a group may become another one. Creating, updating and scaling are the same question.
type judge struct{ world World }

// judgment is what is said of one change.
type judgment struct {
	refused field.ErrorList
	warnings
}

func (j *judgment) violations(refused, kept []policy.Violation) {
	for _, v := range refused {
		j.refused = append(j.refused, v.FieldError())
	}
	for _, v := range kept {
		j.add(v.Error())
	}
}

// change judges the change of old, nil for a new group, into group. group carries the namespace and status of the request;
// only the spec is the user's word.
func (w judge) change(ctx context.Context, old, group *v1alpha1.VmGroup) (judgment, error) {
	var j judgment
	c := callOf(ctx)
	switch {
	case group.DeletionTimestamp != nil:
		return j, nil
	case old != nil && apiequality.Semantic.DeepEqual(old.Spec, group.Spec):
		w.remind(ctx, &j, group)
		return j, nil
	}
	policies, ok := w.world.Policies()
	if !ok {
		return j, c.unavailable(errNoPolicies)
	}
	requester, err := w.world.Requester(ctx, c.member, group.Namespace)
	if err != nil {
		return j, c.unavailable(err)
	}
	preview, err := w.world.Preview(ctx, c.member, group)
	if err != nil {
		return j, c.unavailable(err)
	}
	// Where a template is, whether it exists and what would become of VMs is told to those only who may know.
	if len(preview.Denials) > 0 {
		preview = Preview{VCenter: preview.VCenter, Denials: preview.Denials}
	}
	if err := movesVCenter(old, group); err != nil {
		j.refused = append(j.refused, err)
	}
	unsaid := j.policies(policies, requester, old, group, preview)
	j.violations(policy.Split(w.world.Quota(ctx, requester, old, group)))
	j.grants(old, group, preview.Denials)
	if len(preview.Denials) > 0 || len(j.refused) > 0 {
		return j, nil
	}
	if unsaid && (old == nil || grows(old, group) || asksElse("spec.template", old, group)) {
		j.add(fmt.Sprintf("spec.template: %q does not exist in VCenter %q; VMs are cloned once it does", group.Spec.Template, preview.VCenter))
	}
	j.foretell(old, group, preview)
	return j, nil
}

// policies judges by the policies that hold for the requester. unsaid is true when the template does not exist and no policy
// has anything to say about that.
func (j *judgment) policies(set *policy.Set, requester policy.Requester, old, group *v1alpha1.VmGroup, preview Preview) (unsaid bool) {
	var before *v1alpha1.VmGroupSpec
	if old == nil {
		j.violations(policy.Split(set.Evaluate(requester, group.Spec, preview.TemplatePath)))
	} else {
		before = &old.Spec
		j.violations(set.EvaluateUpdate(requester, old.Spec, group.Spec, preview.TemplatePath))
	}
	if !preview.TemplateMissing {
		return false
	}
	refused, kept := set.MissingTemplate(requester, before, group.Spec, preview.VCenter)
	j.violations(refused, kept)
	return len(refused)+len(kept) == 0
}

// remind warns of what a group breaks that is edited without a change of its spec: its labels, say. Such an edit always
// passes, whatever is not known.
func (w judge) remind(ctx context.Context, j *judgment, group *v1alpha1.VmGroup) {
	policies, ok := w.world.Policies()
	if !ok {
		return
	}
	requester, err := w.world.Requester(ctx, callOf(ctx).member, group.Namespace)
	if err != nil {
		return
	}
	for _, v := range policies.Evaluate(requester, group.Spec, "") {
		j.add(v.Error())
	}
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
func (j *judgment) grants(old, group *v1alpha1.VmGroup, denials []policy.Denial) {
	for _, denial := range denials {
		err := &field.Error{Type: field.ErrorTypeForbidden, Field: denial.Field, Detail: denial.Message}
		if old == nil || grows(old, group) || asksElse(denial.Field, old, group) {
			j.refused = append(j.refused, err)
		} else {
			j.add(err.Error())
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
func (j *judgment) foretell(old, group *v1alpha1.VmGroup, preview Preview) {
	if !preview.Known {
		reason := preview.Reason
		if reason == "" {
			reason = fmt.Sprintf("VCenter %q cannot be looked at", preview.VCenter)
		}
		j.add("what this does in vCenter cannot be said now: " + reason)
		return
	}
	for _, sentence := range forecast(old, group, preview.Plan) {
		j.add(sentence)
	}
}
