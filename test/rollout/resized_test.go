//go:build unix && slow

package rollout

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestTwentyVMsGrowWithOneCallEachAndWithoutARestart(t *testing.T) {
	stack.Story(t)
	enter(t)
	const desired = 20
	f := newFleet(t, calm, "hot", desired, hot, func(s *v1alpha1.VmGroupSpec) {
		guarded(s)
		s.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot}
	})
	before := f.vms()
	shared.Proxy.Reset()
	eye := f.open(bounds{desired, desired})

	f.patch(`{"spec":{"cpu":2,"memory":4}}`)
	after := f.exactly(f.untilUpdated(), func(vm sim.VM) bool { return vm.Heartbeat && vm.CPU == 2 && vm.MemoryMB == 4096 })
	eye.close()

	// Only size and revision differ.
	for ref, vm := range after {
		was := before[ref]
		vm.CPU, vm.MemoryMB, vm.Extra = was.CPU, was.MemoryMB, maps.Clone(vm.Extra)
		vm.Extra[revision] = was.Extra[revision]
		after[ref] = vm
	}
	if err := differ(before, after); err != nil {
		t.Error(err)
	}
	calls := map[string]int{}
	for _, call := range f.changes() {
		if call.Method != "ReconfigVM_Task" {
			t.Errorf("%s was called on %s", call.Method, call.Object)
		}
		calls[call.Object]++
	}
	for ref := range before {
		if calls[ref] != 1 {
			t.Errorf("%d calls for %s, want one", calls[ref], ref)
		}
	}
}

func TestVMsThatShrinkAreRestartedOneByOne(t *testing.T) {
	stack.Story(t)
	enter(t)
	const desired = 4
	f := newFleet(t, calm, "shrunk", desired, hot, func(s *v1alpha1.VmGroupSpec) {
		guarded(s)
		s.CPU = 2
		s.UpdateStrategy = strategy(intstr.FromInt32(0), intstr.FromInt32(1))
	})
	before := f.vms()
	shared.Proxy.Reset()
	eye := f.open(bounds{desired - 1, desired})

	f.patch(`{"spec":{"cpu":1}}`)
	after := f.exactly(f.untilUpdated(), func(vm sim.VM) bool { return vm.Heartbeat && vm.CPU == 1 && vm.MemoryMB == 1024 })
	eye.close()

	if eye.least != desired-1 {
		t.Errorf("at least %d VMs were available: no restart was observed", eye.least)
	}
	for ref, was := range before {
		if vm, there := after[ref]; !there || vm.UUID != was.UUID || vm.BootTime == nil || vm.BootTime.Equal(*was.BootTime) {
			t.Errorf("%+v became %+v, want it restarted", was, vm)
		}
	}
	calls := map[string]map[string]int{}
	for _, call := range f.changes() {
		if calls[call.Object] == nil {
			calls[call.Object] = map[string]int{}
		}
		calls[call.Object][call.Method]++
	}
	want := map[string]int{"ShutdownGuest": 1, "ReconfigVM_Task": 1, "PowerOnVM_Task": 1}
	for ref, methods := range calls {
		if _, known := before[ref]; !known || !maps.Equal(methods, want) {
			t.Errorf("of %s was asked %v, want %v", ref, methods, want)
		}
	}
}
