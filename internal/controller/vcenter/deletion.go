package vcenter

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// inUse returns the reason why the deletion of a VCenter waits, or "". It asks about each group of the VCenter.
func (r *Reconciler) inUse(ctx context.Context, vc *v1alpha1.VCenter) string {
	vms := vc.Status.VMs
	if current, _ := r.Pool.connections(vc.Name); current != nil {
		if health := current.Health(); health.Reachable && health.Complete {
			vms = int32(health.VMs)
		}
	}
	groups := r.Groups.CountActed(vc.Name)
	if !r.refusesGroups(vc) {
		groups = r.Groups.CountVCenter(ctx, vc.Name, vc.Spec.Grants)
	}
	// The recorded number of VMs counts as well: right after a start no group is known yet.
	if groups == 0 && (vms == 0 || r.givenUp(ctx, vc)) {
		return ""
	}
	return fmt.Sprintf("%d VmGroups use this VCenter, and %d VMs of this installation are in its vCenter. The VCenter is deleted once these groups and VMs are deleted, because no replica can reach the VMs without it", groups, vms)
}

// refusesGroups reports whether every replica has seen that a VCenter is being deleted. From then on, none starts a clone for a group that never used it.
// Otherwise a tenant could prevent the deletion with groups that have no VMs.
func (r *Reconciler) refusesGroups(vc *v1alpha1.VCenter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving == nil {
		r.leaving = map[string]time.Time{}
	}
	since, seen := r.leaving[vc.Name]
	if !seen {
		since = r.Now()
		r.leaving[vc.Name] = since
	}
	return r.Now().Sub(since) >= deletionSeen
}

// leave logs out of a vCenter that no group uses any more. A replica that does not lead checks again until the object is deleted: the leader
// can count groups that this replica does not see yet.
func (r *Reconciler) leave(ctx context.Context, vc *v1alpha1.VCenter) (reconcile.Result, error) {
	if r.leading() && r.Receipts != nil {
		// Later, no replica can find out that their VMs were deleted.
		if err := r.Receipts.Settle(ctx, vc.Name); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.Pool.remove(vc.Name)
	if !controllerutil.ContainsFinalizer(vc, v1alpha1.VCenterFinalizer) {
		return reconcile.Result{}, nil
	}
	if !r.leading() {
		return reconcile.Result{RequeueAfter: lookInterval}, nil
	}
	base := vc.DeepCopy()
	controllerutil.RemoveFinalizer(vc, v1alpha1.VCenterFinalizer)
	err := r.Client.Patch(ctx, vc, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: soon}, nil // the cache is about to show the change
	}
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("remove the finalizer: %w", err)
	}
	if root := vc.Status.Root; root != nil && err == nil {
		r.Events.Eventf(vc, nil, corev1.EventTypeNormal, v1alpha1.EventFolderStays, "Delete",
			"The root folder %s (%s) stays in the vCenter %s, with the folders in it. If no other VCenter uses it, you can delete it there",
			untrusted.Name(root.Folder), untrusted.Name(root.MoRef), untrusted.Name(vc.Status.Server))
	}
	return reconcile.Result{}, nil
}
