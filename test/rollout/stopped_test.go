//go:build unix && slow

package rollout

import (
	"path"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestATemplateThatNeverBootsStopsTheUpdateAndIsUndoneByTheOldSpec(t *testing.T) {
	stack.Story(t)
	enter(t)
	const desired, surge = 5, 1
	f := newFleet(t, calm, "stopped", desired, early, func(s *v1alpha1.VmGroupSpec) {
		guarded(s)
		s.Readiness.StartupTimeoutSeconds, s.Shutdown.TimeoutSeconds = 4, 1
		s.UpdateStrategy = strategy(intstr.FromInt32(surge), intstr.FromInt32(0))
	})
	before := f.vms()
	shared.Proxy.Reset()
	eye := f.open(bounds{desired, desired + surge})

	f.patch(`{"spec":{"template":"` + never + `"}}`)
	await.True(t, "a VM of the template that never boots", func() bool { return of(f.vms(), never) == 1 })
	failed := ""
	for _, vm := range f.vms() {
		if vm.Extra[mark] == never {
			failed = path.Base(vm.Path)
		}
	}
	stopped := func() {
		t.Helper()
		g := f.untilSays(v1alpha1.ConditionStalled, v1alpha1.ReasonRolloutStopped, failed, "set spec back to what it was")
		if g.Status.Phase != v1alpha1.PhaseError || !says(g, v1alpha1.ConditionUpToDate, v1alpha1.ReasonRolloutStopped, failed) {
			t.Errorf("phase %s, conditions %+v", g.Status.Phase, g.Status.Conditions)
		}
	}
	stopped()
	f.takeOver(func() {})
	stopped()
	if vms := f.vms(); of(vms, never) != 1 || of(vms, early) != desired {
		t.Errorf("%d VMs of the old template and %d of the new one", of(vms, early), of(vms, never))
	}

	f.patch(`{"spec":{"template":"` + early + `"}}`)
	after := f.exactly(f.untilUpdated(), func(vm sim.VM) bool { return vm.Heartbeat && vm.Extra[mark] == early })
	eye.close()
	if err := differ(before, after); err != nil {
		t.Error(err)
	}
	for _, call := range f.changes() {
		if _, old := before[call.Object]; old {
			t.Errorf("%s was called on %s, which was there before", call.Method, call.Object)
		}
	}
	if n := len(eye.seen); n != desired+surge {
		t.Errorf("there were %d VMs in all, want %d", n, desired+surge)
	}
}
