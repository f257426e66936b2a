package sim_test

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestWhatIsDisabledIsShownAndRefused(t *testing.T) {
	h := person(t, sim.Options{})
	shown := func(want ...string) {
		t.Helper()
		var vm mo.VirtualMachine
		must(t, property.DefaultCollector(h.Client()).RetrieveOne(h.ctx, h.vm(ordinary).Reference(), []string{"disabledMethod"}, &vm))
		if !slices.Equal(vm.DisabledMethod, want) {
			t.Errorf("disabled are %v, want %v", vm.DisabledMethod, want)
		}
	}
	must(t, h.PowerOn(h.ctx, ordinary))
	must(t, h.Disable(h.ctx, ordinary, "ReconfigVM_Task", "PowerOffVM_Task"))
	shown("ReconfigVM_Task", "PowerOffVM_Task")
	refused[*types.MethodDisabled](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{Annotation: "x"}))
	refused[*types.MethodDisabled](t, h.PowerOff(h.ctx, ordinary))
	must(t, h.Disable(h.ctx, ordinary))
	shown()
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{Annotation: "x"}))
	must(t, h.PowerOff(h.ctx, ordinary))
}
