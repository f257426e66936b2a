package vmgroup

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
)

// vanishedStore keeps a group that its API server has removed in memory.
type vanishedStore struct {
	effect.Store
	r     *Reconciler
	group vanishedGroup
}

// WriteStatus implements effect.Store.
func (v vanishedStore) WriteStatus(_ context.Context, _, next *v1alpha1.VmGroup) error {
	v.r.vanished.store(v.group.key, next)
	return nil
}

// Release implements effect.Store.
func (v vanishedStore) Release(ctx context.Context, group *v1alpha1.VmGroup) error {
	log.FromContext(ctx).Info("The deletion of a group that was removed in spite of its finalizer is complete", "uid", group.UID)
	v.r.forgetVanished(v.group)
	return nil
}
