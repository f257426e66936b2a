package original

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const (
	finalizer = "vm-operator"
	// retry is the original's wait after a failure that can pass.
	retry   = 20 * time.Second
	success = "successfully reconciled VmGroup"
)

// reconciler is the original's reconciler.
type reconciler struct {
	client  client.Client
	vcenter *vcenter
}

// Reconcile runs one pass: it looks up everything, does all work, waits for it and writes status.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	vg := &v1alpha1.VmGroup{}
	if err := r.client.Get(ctx, req.NamespacedName, vg); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !vg.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.delete(ctx, vg)
	}
	if controllerutil.AddFinalizer(vg, finalizer) {
		if err := r.client.Update(ctx, vg); err != nil {
			return reconcile.Result{}, fmt.Errorf("add the finalizer: %w", err)
		}
	}
	current, fatal, err := r.converge(ctx, vg)
	status := v1alpha1.VmGroupStatus{
		Phase: v1alpha1.PhaseRunning, LastMessage: success, DesiredReplicas: *vg.Spec.Replicas, CurrentReplicas: current,
	}
	var result reconcile.Result
	switch {
	case err == nil:
	case fatal || isNotFound(err):
		status.Phase, status.LastMessage = v1alpha1.PhaseError, err.Error()
	default:
		status.Phase, status.LastMessage = v1alpha1.PhasePending, err.Error()
		result.RequeueAfter = retry
	}
	vg.Status = status
	if err := r.client.Status().Update(ctx, vg); err != nil {
		return reconcile.Result{}, fmt.Errorf("write status: %w", err)
	}
	return result, nil
}

// converge brings vCenter to the state in spec. It returns the previous number of VMs, and whether an error is final.
func (r *reconciler) converge(ctx context.Context, vg *v1alpha1.VmGroup) (current int32, fatal bool, err error) {
	group := folderName(vg)
	if err := r.vcenter.ensureFolder(ctx, group); err != nil {
		return 0, true, err
	}
	vms, err := r.vcenter.vms(ctx, group)
	if err != nil {
		return 0, true, err
	}
	desired := int(*vg.Spec.Replicas)
	current = int32(len(vms))
	switch {
	case len(vms) < desired:
		s := shape{template: vg.Spec.Template, cpu: vg.Spec.CPU, memoryGiB: vg.Spec.Memory}
		return current, false, parallel(ctx, desired-len(vms), func(ctx context.Context, _ int) error {
			return r.vcenter.clone(ctx, group, vg.Name+"-replica-"+uuid.NewString()[:8], s)
		})
	case len(vms) > desired:
		return current, false, parallel(ctx, len(vms)-desired, func(ctx context.Context, i int) error {
			return r.vcenter.destroy(ctx, vms[i])
		})
	}
	var off []int
	for i, vm := range vms {
		state, err := vm.PowerState(ctx)
		if err != nil {
			return current, false, err
		}
		if state != types.VirtualMachinePowerStatePoweredOn {
			off = append(off, i)
		}
	}
	return current, false, parallel(ctx, len(off), func(ctx context.Context, i int) error {
		return r.vcenter.powerOn(ctx, vms[off[i]])
	})
}

// delete destroys all VMs of a group and removes its finalizer.
func (r *reconciler) delete(ctx context.Context, vg *v1alpha1.VmGroup) error {
	if !controllerutil.ContainsFinalizer(vg, finalizer) {
		return nil
	}
	group := folderName(vg)
	vms, err := r.vcenter.vms(ctx, group)
	if err == nil {
		err = parallel(ctx, len(vms), func(ctx context.Context, i int) error { return r.vcenter.destroy(ctx, vms[i]) })
		if err == nil {
			err = r.vcenter.destroyFolder(ctx, group)
		}
	}
	if err != nil && !isNotFound(err) {
		return err
	}
	controllerutil.RemoveFinalizer(vg, finalizer)
	if err := r.client.Update(ctx, vg); err != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	return nil
}

func folderName(vg *v1alpha1.VmGroup) string { return vg.Namespace + "-" + vg.Name }
