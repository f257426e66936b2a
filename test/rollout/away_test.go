//go:build unix && slow

package rollout

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAnEditWhileNoReplicaRunsReachesVMsOnceOneDoes(t *testing.T) {
	stack.Story(t)
	enter(t)
	const desired, surge = 4, 1
	f := newFleet(t, calm, "away", desired, early, func(s *v1alpha1.VmGroupSpec) {
		guarded(s)
		s.UpdateStrategy = strategy(intstr.FromInt32(surge), intstr.FromInt32(0))
	})
	before := f.vms()
	eye := f.open(bounds{desired, desired + surge})

	f.killAll()
	f.patch(`{"spec":{"template":"` + late + `"}}`)
	if err := differ(before, f.vms()); err != nil {
		t.Fatalf("VMs changed although all replicas are killed: %v", err)
	}
	f.startAll()
	g := f.untilUpdated()
	eye.close()

	for ref := range f.exactly(g, func(vm sim.VM) bool { return vm.Heartbeat && vm.Extra[mark] == late }) {
		if _, old := before[ref]; old {
			t.Errorf("%s was there before", ref)
		}
	}
	if n := len(eye.seen); n != 2*desired {
		t.Errorf("there were %d VMs in all, want %d", n, 2*desired)
	}
}
