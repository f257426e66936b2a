package webhook

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// groupValidator reviews VmGroups that are created or changed.
type groupValidator struct {
	reviewer
	// newUID draws a UID for a group that the hub does not know.
	newUID func() string
}

var _ admission.Validator[*v1alpha1.VmGroup] = groupValidator{}

// ValidateCreate reviews a new group. Nobody creates a status, and the UID is not the user's word either: a sender must not feign the
// one of another group.
func (v groupValidator) ValidateCreate(ctx context.Context, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	group.Status, group.UID = v1alpha1.VmGroupStatus{}, types.UID(v.newUID())
	return v.answer(ctx, nil, group)
}

// ValidateUpdate reviews a change. What the group is, and what status it has, is what the hub has seen of it, and not what the
// request says: with a status of one's own making one could ask about VMs and folders of others.
func (v groupValidator) ValidateUpdate(ctx context.Context, old, group *v1alpha1.VmGroup) (admission.Warnings, error) {
	if group.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, group.Spec) {
		return v.answer(ctx, old, group) // it passes, whatever is known of it
	}
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, callOf(ctx).unavailable(err)
	}
	known, err := v.knowledge.Group(ctx, callOf(ctx).member, req.Namespace, group.Name)
	switch {
	case err == nil && known.UID == old.UID:
		old.Status = known.Status
	case err == nil || apierrors.IsNotFound(err): // it was created a moment ago
		old.Status, old.UID = v1alpha1.VmGroupStatus{}, types.UID(v.newUID())
	default:
		return nil, callOf(ctx).unavailable(err)
	}
	group.Status, group.UID = old.Status, old.UID
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
