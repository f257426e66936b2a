package vmgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// store keeps what becomes of a group.
type store interface {
	// writeStatus stores the status of next, unless the group has changed since it was read: that is a conflict. It sets next's version to that which
	// the group has then, and nothing else of it.
	writeStatus(ctx context.Context, group, next *v1alpha1.VmGroup) error
	// release lets a group go of which nothing is left.
	release(ctx context.Context, group *v1alpha1.VmGroup) error
}

// apiStore is the API server of the group's member.
type apiStore struct {
	client client.Client
	memory *memory
	// member is the UID of the cluster.
	member string
	// restores and tenure are those under which a write is remembered.
	restores, tenure uint64
}

func (a apiStore) writeStatus(ctx context.Context, group, next *v1alpha1.VmGroup) error {
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	answer := next.DeepCopy()
	if err := a.client.Status().Patch(ctx, answer, client.MergeFromWithOptions(group, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if err := answers(answer, group); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	// The pass goes on with what it was decided on. An API server that answers with something else would change that in the middle, and the next write
	// would say again what the first one said.
	next.ResourceVersion = answer.ResourceVersion
	return nil
}

func (a apiStore) release(ctx context.Context, group *v1alpha1.VmGroup) error {
	_, err := a.patchFinalizers(ctx, group, controllerutil.RemoveFinalizer, v1alpha1.VmGroupFinalizer)
	return client.IgnoreNotFound(err)
}

// patchFinalizers changes a group's finalizers with an optimistic lock: finalizers are an atomic list, and
// those of others must not get lost. It returns the group as it is then.
func (a apiStore) patchFinalizers(ctx context.Context, group *v1alpha1.VmGroup, change func(client.Object, string) bool, finalizer string) (*v1alpha1.VmGroup, error) {
	next := group.DeepCopy()
	change(next, finalizer)
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	if err := a.client.Patch(ctx, next, client.MergeFromWithOptions(group, client.MergeFromWithOptimisticLock{})); err != nil {
		return group, fmt.Errorf("write finalizers: %w", err)
	}
	if err := answers(next, group); err != nil {
		return group, fmt.Errorf("write finalizers: %w", err)
	}
	a.memory.change(objectOf(a.member, group), func(m *remembered) {
		m.tenure, m.resourceVersion, m.restores, m.written = a.tenure, next.ResourceVersion, a.restores, true
	})
	return next, nil
}

// AnswerError is an answer that no API server of Kubernetes gives. Nothing of the answer is remembered, and the pass ends with an error, so that it is tried
// again.
type AnswerError struct {
	// What is wrong with the answer.
	What string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("the API server's answer cannot be right: %s; check what answers at the address of the member", e.What)
}

// answers refuses an answer to a write that is about another object than was written, and one whose resource version is longer than one can be: it is
// remembered for as long as the group exists.
func answers(answer, written *v1alpha1.VmGroup) error {
	if answer.UID != written.UID || answer.Namespace != written.Namespace || answer.Name != written.Name {
		return &AnswerError{"it is about another VmGroup"}
	}
	if version := answer.ResourceVersion; len(version) > untrusted.MaxResourceVersion {
		return &AnswerError{fmt.Sprintf("the resource version has %d bytes, more than %d", len(version), untrusted.MaxResourceVersion)}
	}
	return nil
}

// vanishedStore is the memory of a group that its API server has removed.
type vanishedStore struct {
	r     *Reconciler
	group vanishedGroup
}

func (v vanishedStore) writeStatus(_ context.Context, _, next *v1alpha1.VmGroup) error {
	v.r.vanished.store(v.group.key, next)
	return nil
}

func (v vanishedStore) release(ctx context.Context, group *v1alpha1.VmGroup) error {
	log.FromContext(ctx).Info("The deletion of a group that was removed in spite of its finalizer is complete", "uid", group.UID)
	v.r.forgetVanished(v.group)
	return nil
}
