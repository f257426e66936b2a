//go:build unix && slow

package rollout

import (
	"context"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// bump is more than the number of writes between a backup and its restore.
const bump = 3000

func TestFiftyOutdatedVMsAreLeftAloneWhateverBecomesOfWhatIsKnownOfThem(t *testing.T) {
	stack.Story(t)
	enter(t)
	const desired = 50
	f := newFleet(t, restored, "outdated", desired, plain, func(s *v1alpha1.VmGroupSpec) {
		s.UpdateStrategy = strategy(intstr.FromString("100%"), intstr.FromString("50%"))
	})
	backup := filepath.Join(t.TempDir(), "backup")
	if err := f.cluster.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	f.patch(`{"spec":{"template":"` + other + `"}}`)
	before := f.exactly(f.untilUpdated(), func(vm sim.VM) bool { return vm.Extra[mark] == other })
	shared.Proxy.Reset()
	// untouched waits until the group reports that nothing has started its update, and checks that no action was taken.
	untouched := func(after string) {
		t.Helper()
		g := f.until("to say after "+after+" that nothing has started its update", func(g *v1alpha1.VmGroup) bool {
			return len(f.changes()) > 0 || says(g, v1alpha1.ConditionUpToDate, v1alpha1.ReasonNotStarted, "0 of 50 VMs updated", "spec.updateStrategy.replaceTrigger")
		})
		if g.Status.UpdatedReplicas != 0 || g.Status.Replicas != desired || len(g.Status.VMs) != desired {
			t.Errorf("after %s status counts %d of %d updated, and has %d VMs", after, g.Status.UpdatedReplicas, g.Status.Replicas, len(g.Status.VMs))
		}
		for _, call := range f.changes() {
			t.Errorf("after %s %s was called on %s", after, call.Method, call.Object)
		}
		if err := differ(before, f.vms()); err != nil {
			t.Fatalf("after %s: %v", after, err)
		}
	}

	if err := f.cluster.Restore(t.Context(), backup, bump); err != nil {
		t.Fatal(err)
	}
	untouched("a restore")

	// The state that an older version leaves, which has seen another edit and does not know updates.
	f.takeOver(func() {
		f.patch(`{"spec":{"cpu":2}}`)
		f.setStatus(func(g *v1alpha1.VmGroup) {
			g.Status.ObservedGeneration, g.Status.Rollout, g.Status.Revisions = g.Generation, nil, nil
		})
	})
	untouched("an upgrade")

	f.setStatus(func(g *v1alpha1.VmGroup) { g.Status = v1alpha1.VmGroupStatus{} })
	untouched("a status that was wiped")
	f.takeOver(func() {
		f.patch(`{"spec":{"cpu":1}}`)
		f.setStatus(func(g *v1alpha1.VmGroup) { g.Status = v1alpha1.VmGroupStatus{ObservedGeneration: g.Generation} })
	})
	untouched("a status that was wiped while no operator ran")

	rule := &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "tightened"},
		Spec:       v1alpha1.VmGroupPolicySpec{Match: v1alpha1.PolicyMatch{MemberClusters: []string{restored}}, Templates: &v1alpha1.PolicyTemplates{Deny: []string{"*"}}},
	}
	if err := shared.Hub.Create(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Hub.Delete(context.Background(), rule); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	f.untilSays(v1alpha1.ConditionPolicyCompliant, v1alpha1.ReasonPolicyTightened)
	untouched("a policy that was tightened")
	if err := shared.Hub.Delete(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	f.until("the policy to be gone", func(g *v1alpha1.VmGroup) bool {
		return !says(g, v1alpha1.ConditionPolicyCompliant, v1alpha1.ReasonPolicyTightened)
	})
	untouched("a policy that was taken back")

	// All of this has forbidden nothing.
	f.patch(`{"spec":{"updateStrategy":{"replaceTrigger":"now"}}}`)
	for ref := range f.exactly(f.untilUpdated(), func(vm sim.VM) bool { return vm.Extra[mark] == plain && vm.CPU == 1 }) {
		if _, old := before[ref]; old {
			t.Errorf("%s was not replaced", ref)
		}
	}
}

// setStatus changes the group's status, as a backup or another version could.
func (f *fleet) setStatus(change func(*v1alpha1.VmGroup)) {
	f.t.Helper()
	await.NoError(f.t, "the status to be written", func() error {
		g := f.object()
		if err := f.cluster.Get(f.t.Context(), f.key, g); err != nil {
			return err
		}
		change(g)
		return f.cluster.Status().Update(f.t.Context(), g)
	})
}
