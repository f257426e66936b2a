package webhook

import (
	"context"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// scaleValidator reviews changes of the subresource scale. kubectl scale and autoscalers use it, and a webhook of vmgroups
// does not receive these changes.
type scaleValidator struct{ reviewer }

var _ admission.Validator[*autoscalingv1.Scale] = scaleValidator{}

// ValidateCreate allows every request: a subresource is not created.
func (v scaleValidator) ValidateCreate(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate reviews the group with the new number of replicas.
func (v scaleValidator) ValidateUpdate(ctx context.Context, old, scale *autoscalingv1.Scale) (admission.Warnings, error) {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, callOf(ctx).unavailable(err)
	}
	group, err := v.knowledge.Group(ctx, callOf(ctx).member, req.Namespace, req.Name)
	switch {
	case apierrors.IsNotFound(err):
		return v.unknown(ctx, req, old, scale)
	case err != nil:
		return nil, callOf(ctx).unavailable(err)
	}
	before, after := group.DeepCopy(), group.DeepCopy()
	before.Spec.Replicas, after.Spec.Replicas = &old.Spec.Replicas, &scale.Spec.Replicas
	said, err := v.change(ctx, before, after)
	if err != nil {
		return nil, err
	}
	if err := refuse("VmGroup", group.Name, said.refused); err != nil {
		return said.answer(), err
	}
	v.scaled(ctx, group, old, scale)
	return said.answer(), nil
}

// ValidateDelete allows every deletion.
func (v scaleValidator) ValidateDelete(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}

// unknown reviews the replicas of a group that was just created and is not in memory yet. The rest of the group is
// unknown; the reconciler reviews it later.
func (v scaleValidator) unknown(ctx context.Context, req admission.Request, old, scale *autoscalingv1.Scale) (admission.Warnings, error) {
	policies, ok := v.knowledge.Policies(ctx)
	if !ok {
		return nil, callOf(ctx).unavailable(errNoPolicies)
	}
	requester, err := v.knowledge.Requester(ctx, callOf(ctx).member, req.Namespace)
	if err != nil {
		return nil, callOf(ctx).unavailable(err)
	}
	// A Scale has only the number of VMs; field "spec" stands for a policy that cannot be used.
	ofNumber := func(v policy.Violation) bool { return v.Field == "spec.replicas" || v.Field == "spec" }
	var said review
	refused, kept := policies.EvaluateUpdate(requester,
		v1alpha1.VmGroupSpec{Replicas: &old.Spec.Replicas}, v1alpha1.VmGroupSpec{Replicas: &scale.Spec.Replicas}, "")
	said.violations(keepOnly(refused, ofNumber), keepOnly(kept, ofNumber))
	return said.result(), refuse("VmGroup", req.Name, said.refused)
}

func keepOnly(violations []policy.Violation, accept func(policy.Violation) bool) []policy.Violation {
	return slices.DeleteFunc(violations, func(v policy.Violation) bool { return !accept(v) })
}
