//go:build unix && slow

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestALedgerFromABackupGrantsNoMoreThanTheQuota restores the ledger to its content before a group grew.
func TestALedgerFromABackupGrantsNoMoreThanTheQuota(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	label := map[string]string{"ledger": "restored"}
	most := int32(5)
	rule := &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "ledger"},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match: v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{MatchLabels: label}},
			Quota: &v1alpha1.PolicyQuota{Scope: v1alpha1.QuotaNamespace, VMs: &most},
		},
	}
	if err := w.Hub.Create(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Hub.Delete(context.Background(), rule); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	p := newPlace(t, w, "team-a", "ledger", "ledger", "restored")
	p.apply(p.group("grows", 2))
	p.untilRunning("grows", 2)
	var ledgers corev1.ConfigMapList
	if err := w.Hub.List(t.Context(), &ledgers, client.InNamespace(stack.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "quota"}); err != nil {
		t.Fatal(err)
	}
	of := slices.IndexFunc(ledgers.Items, func(c corev1.ConfigMap) bool {
		return strings.HasPrefix(c.Name, quota.Name+"-") && strings.Contains(c.Data["ledger.json"], `VmGroupPolicy \"ledger\"`)
	})
	if of < 0 {
		t.Fatalf("no ledger is that of the policy's total among %d", len(ledgers.Items))
	}
	backup := ledgers.Items[of]
	p.patch("grows", `{"spec":{"replicas":5}}`)
	before := p.untilRunning("grows", 5)

	var ledger corev1.ConfigMap
	if err := w.Hub.Get(t.Context(), client.ObjectKeyFromObject(&backup), &ledger); err != nil {
		t.Fatal(err)
	}
	ledger.Data, ledger.BinaryData = backup.Data, backup.BinaryData
	if err := w.Hub.Update(t.Context(), &ledger); err != nil {
		t.Fatal(err)
	}
	p.apply(p.group("late", 3))
	p.untilSays("late", v1alpha1.ConditionPolicyCompliant, metav1.ConditionFalse, v1alpha1.ReasonQuotaExceeded, "5 VMs")
	if n := len(inVCenter(t, w, folderOf(t, before))); n != 5 {
		t.Errorf("the group that grew has %d VMs", n)
	}
	if late := p.get("late"); late.Status.Replicas != 0 || len(late.Status.VMs) != 0 {
		t.Errorf("the other group has %+v, beyond the quota", late.Status.VMs)
	}

	p.patch("grows", `{"spec":{"replicas":2}}`)
	p.untilRunning("late", 3)
	after := p.untilRunning("grows", 2)
	for i := range after.Status.VMs {
		if after.Status.VMs[i].MoRef != before.Status.VMs[i].MoRef {
			t.Errorf("VM %s became %s", before.Status.VMs[i].MoRef, after.Status.VMs[i].MoRef)
		}
	}
}
