//go:build unix && slow

package rollout

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// rule is the policy of a story's only namespace.
type rule struct {
	t      *testing.T
	policy *v1alpha1.VmGroupPolicy
}

func newRule(t *testing.T, namespace string, quota int32) *rule {
	t.Helper()
	r := &rule{t, &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match: v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}},
			Quota: &v1alpha1.PolicyQuota{Scope: v1alpha1.QuotaNamespace, VMs: &quota},
		},
	}}
	if err := shared.Hub.Create(t.Context(), r.policy); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Hub.Delete(context.Background(), r.policy); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rule) change(change func(*v1alpha1.VmGroupPolicySpec)) {
	r.t.Helper()
	await.NoError(r.t, "the change of the policy", func() error {
		if err := shared.Hub.Get(r.t.Context(), client.ObjectKeyFromObject(r.policy), r.policy); err != nil {
			return err
		}
		change(&r.policy.Spec)
		return shared.Hub.Update(r.t.Context(), r.policy)
	})
}

// TestAnUpdateNeverHasMoreVMsThanItsQuota updates a group three times: with a full quota, with room for one VM of two,
// and with a policy that refuses during the update. VMs that shut down count as long as they exist. There are never
// more than the policy's limit, nor more than the ledger grants.
func TestAnUpdateNeverHasMoreVMsThanItsQuota(t *testing.T) {
	stack.Story(t)
	enter(t)
	rule := newRule(t, "quota", 3)
	f := newFleet(t, calm, "quota", 3, early, func(s *v1alpha1.VmGroupSpec) {
		guarded(s)
		s.UpdateStrategy = strategy(intstr.FromString("100%"), intstr.FromString("100%"))
	})
	wanted := func(template string) func(sim.VM) bool {
		return func(vm sim.VM) bool { return vm.Heartbeat && vm.Extra[mark] == template }
	}
	eye := f.openWith(bounds{0, 3}, f.granted())
	f.patch(`{"spec":{"template":"` + late + `"}}`)
	f.exactly(f.untilUpdated(), wanted(late))

	rule.change(func(s *v1alpha1.VmGroupPolicySpec) { *s.Quota.VMs = 5 })
	eye.expect(bounds{0, 5})
	f.desired = 4
	f.patch(`{"spec":{"replicas":4,"updateStrategy":{"maxSurge":2,"maxUnavailable":0}}}`)
	f.untilUpdated()
	eye.expect(bounds{4, 5})
	f.patch(`{"spec":{"template":"` + early + `"}}`)
	f.exactly(f.untilUpdated(), wanted(early))

	eye.expect(bounds{0, 5})
	f.patch(`{"spec":{"template":"` + late + `","updateStrategy":{"maxSurge":2,"maxUnavailable":2}}}`)
	await.True(t, "a VM of the new template", func() bool { return of(f.vms(), late) > 0 })
	rule.change(func(s *v1alpha1.VmGroupPolicySpec) { s.Templates = &v1alpha1.PolicyTemplates{Allow: []string{late}} })
	f.patch(`{"spec":{"template":"` + early + `"}}`)
	f.until("the edit to be refused", func(g *v1alpha1.VmGroup) bool {
		return says(g, v1alpha1.ConditionPolicyCompliant, v1alpha1.ReasonPolicyViolated) || says(g, v1alpha1.ConditionPolicyCompliant, v1alpha1.ReasonPolicyTightened)
	})
	await.True(t, "VMs that leave to be gone", func() bool {
		g := f.object()
		return f.cluster.Get(t.Context(), f.key, g) == nil && len(g.Status.Deleting) == 0
	})
	rule.change(func(s *v1alpha1.VmGroupPolicySpec) { s.Templates = nil })
	f.exactly(f.untilUpdated(), wanted(early))
	eye.close()
}
