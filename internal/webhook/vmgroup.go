package webhook

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

type groupValidator struct {
	reviewer
	// newUID generates a UID for a group that the hub does not know.
	newUID func() string
}

var _ admission.Validator[*v1alpha1.VmGroup] = groupValidator{}

// ValidateCreate reviews a new group. It ignores status and UID of the request: a sender must not use the UID of another group.
func (v groupValidator) ValidateCreate(ctx context.Context, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	created := *group // with its UID
	group.Status, group.UID = v1alpha1.VmGroupStatus{}, types.UID(v.newUID())
	said, err := v.answer(ctx, nil, group)
	if err == nil {
		v.created(ctx, &created)
	}
	return said, err
}

// ValidateUpdate reviews a change. Identity and status of the group are those that the hub has seen, not those of the request: with a
// made-up status, a client could query VMs and folders of others.
func (v groupValidator) ValidateUpdate(ctx context.Context, old, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	stored, changed := *old, *group // with their UID
	said, err := v.update(ctx, old, group)
	if err == nil {
		v.updated(ctx, &stored, &changed)
	}
	return said, err
}

func (v groupValidator) update(ctx context.Context, old, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	if group.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, group.Spec) {
		return v.answer(ctx, old, group) // it passes, whatever the hub knows
	}
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, callOf(ctx).unavailable(err)
	}
	known, err := v.knowledge.Group(ctx, callOf(ctx).member, req.Namespace, group.Name)
	switch {
	case err == nil && known.UID == old.UID:
		old.Status = known.Status
	case err == nil || apierrors.IsNotFound(err): // it was just created
		old.Status, old.UID = v1alpha1.VmGroupStatus{}, types.UID(v.newUID())
	default:
		return nil, callOf(ctx).unavailable(err)
	}
	group.Status, group.UID = old.Status, old.UID
	return v.answer(ctx, old, group)
}

// ValidateDelete allows every deletion. Members do not call for deletions.
func (v groupValidator) ValidateDelete(context.Context, *v1alpha1.VmGroup) (admission.Warnings, error) {
	return nil, nil
}

func (v groupValidator) answer(ctx context.Context, old, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	if req, err := admission.RequestFromContext(ctx); err == nil {
		// A generated name is not known here; the namespace of the request is authoritative.
		group.Namespace = req.Namespace
	}
	j, err := v.change(ctx, old, group)
	if err != nil {
		return nil, err
	}
	return j.answer(), refuse("VmGroup", group.Name, j.refused)
}
