//go:build unix && slow

package rollout

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// guarded makes a group count only guests that are up.
func guarded(s *v1alpha1.VmGroupSpec) {
	s.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat}
	s.Shutdown = &v1alpha1.Shutdown{TimeoutSeconds: 20}
}

func TestTwentyVMsAreReplacedWithNeverTooFewNorTooManyWhileTheirOwnersAreKilled(t *testing.T) {
	stack.Story(t)
	enter(t)
	const desired, surge, unavailable = 20, 3, 1
	f := newFleet(t, calm, "replaced", desired, early, func(s *v1alpha1.VmGroupSpec) {
		guarded(s)
		s.UpdateStrategy = strategy(intstr.FromString("15%"), intstr.FromString("5%"))
	})
	before := f.vms()
	eye := f.open(bounds{desired - unavailable, desired + surge})

	f.patch(`{"spec":{"template":"` + late + `"}}`)
	for _, replaced := range []int{3, 11} {
		await.True(t, fmt.Sprintf("%d VMs to be of the new template", replaced), func() bool { return of(f.vms(), late) >= replaced })
		f.killOwner()
	}
	g := f.untilUpdated()
	eye.close()

	for ref := range f.exactly(g, func(vm sim.VM) bool {
		return vm.Heartbeat && vm.Extra[mark] == late && vm.CPU == 1 && vm.MemoryMB == 1024
	}) {
		if _, old := before[ref]; old {
			t.Errorf("%s was there before", ref)
		}
	}
	if n := len(eye.seen); n != 2*desired {
		t.Errorf("there were %d VMs in all, want %d", n, 2*desired)
	}
	if eye.most <= desired {
		t.Errorf("never more than %d VMs were there: the update has not used what it may have", eye.most)
	}
	if r := g.Status.Rollout; r == nil || len(r.From) > 0 {
		t.Errorf("the update has not ended: %+v", r)
	}
	if meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("the group is stalled: %+v", g.Status.Conditions)
	}
}
