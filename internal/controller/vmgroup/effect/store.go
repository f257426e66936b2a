package effect

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Store keeps a group.
type Store interface {
	// WriteStatus stores the status of next, unless the group has changed since it was read: that is a conflict. It sets the
	// version of next to that of the stored group, and nothing else of it.
	WriteStatus(ctx context.Context, group, next *v1alpha1.VmGroup) error
	// PatchFinalizers changes the finalizers of a group with an optimistic lock. It returns the group after the change.
	PatchFinalizers(ctx context.Context, group *v1alpha1.VmGroup, change Change, finalizer string) (*v1alpha1.VmGroup, error)
	// Release removes the operator's finalizer.
	Release(ctx context.Context, group *v1alpha1.VmGroup) error
}

// Change adds a finalizer to an object or removes it.
type Change = func(o client.Object, finalizer string) bool

// API is the API server of the group's member.
type API struct {
	Client client.Client
	Memory Memory
}

// WriteStatus implements Store.
func (a API) WriteStatus(ctx context.Context, group, next *v1alpha1.VmGroup) error {
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	answer, err := a.patchStatus(ctx, group, next)
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if err := checkAnswer(answer, group); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	// The pass continues with the object of the decision. A different answer of an API server would change it in the middle of
	// the pass, and the next write would repeat the first one.
	next.ResourceVersion = answer.ResourceVersion
	return nil
}

// patchStatus sends the next status of a group. For a large group it sends what changed. If the API server refuses that as invalid, patchStatus sends a
// merge patch: its answer is the conflict of a group that has changed, or the reason of the refusal.
func (a API) patchStatus(ctx context.Context, was, next *v1alpha1.VmGroup) (*v1alpha1.VmGroup, error) {
	if group.Large(&was.Status) {
		answer := next.DeepCopy()
		if err := a.Client.Status().Patch(ctx, answer, statusPatch{was}); !apierrors.IsInvalid(err) {
			return answer, err
		}
	}
	answer := next.DeepCopy()
	return answer, a.Client.Status().Patch(ctx, answer, mergePatch(was))
}

// mergePatch returns a patch with an optimistic lock.
func mergePatch(group *v1alpha1.VmGroup) client.Patch {
	return client.MergeFromWithOptions(group, client.MergeFromWithOptimisticLock{})
}

// Release implements Store.
func (a API) Release(ctx context.Context, group *v1alpha1.VmGroup) error {
	_, err := a.PatchFinalizers(ctx, group, controllerutil.RemoveFinalizer, v1alpha1.VmGroupFinalizer)
	return client.IgnoreNotFound(err)
}

// PatchFinalizers implements Store. Finalizers are an atomic list: without the lock those of other controllers could get lost.
func (a API) PatchFinalizers(ctx context.Context, group *v1alpha1.VmGroup, change Change, finalizer string) (*v1alpha1.VmGroup, error) {
	next := group.DeepCopy()
	change(next, finalizer)
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	if err := a.Client.Patch(ctx, next, mergePatch(group)); err != nil {
		return group, fmt.Errorf("write finalizers: %w", err)
	}
	if err := checkAnswer(next, group); err != nil {
		return group, fmt.Errorf("write finalizers: %w", err)
	}
	a.Memory.Wrote(next.ResourceVersion)
	return next, nil
}

// AnswerError is an answer that no API server of Kubernetes gives. No part of the answer is stored. The pass ends with an
// error and is tried again.
type AnswerError struct {
	// Problem of the answer.
	Problem string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("the API server's answer cannot be right: %s; check what answers at the address of the member", e.Problem)
}

// checkAnswer refuses an answer to a write that is about another object, and one with a resource version that is too long: the
// process stores it as long as the group exists.
func checkAnswer(answer, written *v1alpha1.VmGroup) error {
	if answer.UID != written.UID || answer.Namespace != written.Namespace || answer.Name != written.Name {
		return &AnswerError{"it is about another VmGroup"}
	}
	if version := answer.ResourceVersion; len(version) > untrusted.MaxResourceVersion {
		return &AnswerError{fmt.Sprintf("the resource version has %d bytes, more than %d", len(version), untrusted.MaxResourceVersion)}
	}
	return nil
}
