//go:build unix

package crash

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// release deletes the group and keeps its VMs.
func release(ctx context.Context, t *trial) error {
	return t.removeWith(ctx, v1alpha1.ReleaseAnnotation)
}

// forget deletes the group while its vCenter is unreachable, reportedly for long.
func forget(ctx context.Context, t *trial) error {
	t.lane.cut.Store(true)
	t.lane.stack.Proxy.CutConnections()
	vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := t.until(ctx, "the vCenter to be unreachable", func(ctx context.Context) (bool, error) {
		err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(vcenter), vcenter)
		return err == nil && meta.IsStatusConditionFalse(vcenter.Status.Conditions, v1alpha1.ConditionReachable), err
	}); err != nil {
		return err
	}
	if err := t.until(ctx, "that to have been so for long", func(ctx context.Context) (bool, error) {
		if err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(vcenter), vcenter); err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(vcenter.Status.Conditions, v1alpha1.ConditionReachable)
		c.LastTransitionTime = metav1.NewTime(time.Now().Add(-2 * group.ForgetAfter))
		metav1.SetMetaDataAnnotation(&vcenter.ObjectMeta, v1alpha1.AllowForgetAnnotation, time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339))
		status := vcenter.DeepCopy()
		err := t.lane.hub().Update(ctx, vcenter)
		if err == nil {
			status.ResourceVersion = vcenter.ResourceVersion
			err = t.lane.hub().Status().Update(ctx, status)
		}
		return err == nil, nil // the manager can have written in between
	}); err != nil {
		return err
	}
	return t.removeWith(ctx, v1alpha1.ForgetAnnotation)
}

// removeWith annotates the group with its UID and deletes it.
func (t *trial) removeWith(ctx context.Context, annotation string) error {
	g := t.object()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotation, t.uids[len(t.uids)-1])
	if err := t.lane.hub().Patch(ctx, g, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return fmt.Errorf("annotate the group: %w", err)
	}
	return remove(ctx, t)
}

// receipts are those of the trial's groups.
func (t *trial) receipts(ctx context.Context) ([]receipts.Receipt, error) {
	clients, err := kubernetes.NewForConfig(t.lane.hub().Config)
	if err != nil {
		return nil, fmt.Errorf("make a client for receipts: %w", err)
	}
	all, err := (&receipts.ConfigMaps{Client: clients.CoreV1().ConfigMaps(stack.Namespace)}).List(ctx)
	return slices.DeleteFunc(all, func(r receipts.Receipt) bool { return !slices.Contains(t.uids, r.GroupUID) }), err
}

// wrongReceipts compares the receipts with the released VMs.
func wrongReceipts(e evidence) (wrong []string) {
	if e.scenario.Adopts && e.scenario.Legacy == 0 {
		if len(e.receipts) != 1 || e.receipts[0].AdoptedBy == nil || e.receipts[0].AdoptedBy.GroupUID != e.uids[len(e.uids)-1] {
			wrong = append(wrong, fmt.Sprintf("the VMs were taken over by group %s, and the receipts are %+v", e.uids[len(e.uids)-1], e.receipts))
		}
		return wrong
	}
	if e.scenario.Cause == "" {
		if len(e.receipts) > 0 {
			wrong = append(wrong, fmt.Sprintf("no VM was released, and there is a receipt: %+v", e.receipts))
		}
		return wrong
	}
	if len(e.receipts) != 1 || e.receipts[0].Cause != e.scenario.Cause || len(e.receipts[0].VMs) != int(e.scenario.After) {
		return []string{fmt.Sprintf("%d VMs were released, and the receipts are %+v", e.scenario.After, e.receipts)}
	}
	for _, vm := range e.receipts[0].VMs {
		path := fmt.Sprintf("%s/%s.%s/%s", e.folder, e.group, e.receipts[0].GroupUID[:8], vm.Name)
		if is, ok := e.after[path]; !ok || is.Ref.Value != vm.MoRef || is.UUID != vm.UUID {
			wrong = append(wrong, fmt.Sprintf("the receipt says %+v of %s, which is %+v", vm, path, is))
		}
	}
	return wrong
}
