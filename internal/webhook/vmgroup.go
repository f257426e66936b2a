package webhook

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// groupValidator reviews VmGroups that are created or changed.
type groupValidator struct{ reviewer }

var _ admission.Validator[*v1alpha1.VmGroup] = groupValidator{}

// ValidateCreate reviews a new group.
func (v groupValidator) ValidateCreate(ctx context.Context, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	group.Status = v1alpha1.VmGroupStatus{} // nobody creates a status; a sender must not feign one
	return v.answer(ctx, nil, group)
}

// ValidateUpdate reviews a change.
func (v groupValidator) ValidateUpdate(ctx context.Context, old, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	group.Status = old.Status
	return v.answer(ctx, old, group)
}

// ValidateDelete allows. Members do not ask.
func (v groupValidator) ValidateDelete(context.Context, *v1alpha1.VmGroup) (admission.Warnings, error) {
	return nil, nil
}

func (v groupValidator) answer(ctx context.Context, old, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	if req, err := admission.RequestFromContext(ctx); err == nil {
		// A name that is generated is not known here; the namespace of the request is the one that counts.
		group.Namespace = req.Namespace
	}
	j, err := v.change(ctx, old, group)
	if err != nil {
		return nil, err
	}
	return j.result(), refuse("VmGroup", group.Name, j.refused)
}
