package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func (h hand) reconfigure(path string, spec types.VirtualMachineConfigSpec) error {
	h.t.Helper()
	return h.done(h.vm(path).Reconfigure(h.ctx, spec))
}

func TestARunningVMTakesWhatHotAddAllows(t *testing.T) {
	h := person(t, sim.Options{})
	yes, no := true, false
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{NumCPUs: 2, MemoryMB: 256}))
	must(t, h.PowerOn(h.ctx, ordinary))
	refused[*types.CpuHotPlugNotSupported](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{NumCPUs: 4}))
	refused[*types.MemoryHotPlugNotSupported](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 384}))
	refused[*types.InvalidPowerState](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{CpuHotAddEnabled: &yes}))
	refused[*types.InvalidPowerState](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryHotAddEnabled: &yes}))
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{NumCPUs: 2, MemoryMB: 256, CpuHotAddEnabled: &no}))

	must(t, h.PowerOff(h.ctx, ordinary))
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{CpuHotAddEnabled: &yes, MemoryHotAddEnabled: &yes}))
	must(t, h.PowerOn(h.ctx, ordinary))
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{NumCPUs: 4, MemoryMB: 384}))
	refused[*types.CpuHotPlugNotSupported](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{NumCPUs: 2}))
	refused[*types.MemoryHotPlugNotSupported](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 256}))
	if c := h.config(ordinary); c.Hardware.NumCPU != 4 || c.Hardware.MemoryMB != 384 {
		t.Errorf("the VM has %d CPUs and %d MB", c.Hardware.NumCPU, c.Hardware.MemoryMB)
	}
}

func TestMemoryOfARunningVMGrowsInStepsAndUpToALimit(t *testing.T) {
	h := person(t, sim.Options{})
	yes := true
	if c := h.config(ordinary); c.HotPlugMemoryLimit != 0 || c.HotPlugMemoryIncrementSize != 0 {
		t.Errorf("without hot-add the limit is %d MB and the step %d MB", c.HotPlugMemoryLimit, c.HotPlugMemoryIncrementSize)
	}
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 256, MemoryHotAddEnabled: &yes}))
	must(t, h.clone(ordinary, root, "clone", func(s *types.VirtualMachineCloneSpec) { s.Config = &types.VirtualMachineConfigSpec{MemoryMB: 512} }))
	for path, limit := range map[string]int64{ordinary: 16 * 256, root + "/clone": 16 * 512} {
		if c := h.config(path); c.HotPlugMemoryLimit != limit || c.HotPlugMemoryIncrementSize != 128 {
			t.Errorf("the limit of %s is %d MB, want %d, and its step %d MB, want 128", path, c.HotPlugMemoryLimit, limit, c.HotPlugMemoryIncrementSize)
		}
	}
	must(t, h.PowerOn(h.ctx, ordinary))
	refused[*types.MemoryHotPlugNotSupported](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 256 + 64}))
	refused[*types.MemoryHotPlugNotSupported](t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 16*256 + 128}))
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 256 + 128}))
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 16 * 256}))
	must(t, h.PowerOff(h.ctx, ordinary))
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{MemoryMB: 16*256 + 4}))
}

func TestCPUsFillTheirSockets(t *testing.T) {
	h := person(t, sim.Options{})
	yes, two := true, int32(2)
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{NumCPUs: 2, NumCoresPerSocket: &two, CpuHotAddEnabled: &yes}))
	three := types.VirtualMachineConfigSpec{NumCPUs: 3}
	refused[*types.InvalidArgument](t, h.reconfigure(ordinary, three))
	refused[*types.InvalidArgument](t, h.clone(ordinary, root, "clone", func(s *types.VirtualMachineCloneSpec) { s.Config = &three }))
	must(t, h.PowerOn(h.ctx, ordinary))
	refused[*types.InvalidArgument](t, h.reconfigure(ordinary, three))
	must(t, h.reconfigure(ordinary, types.VirtualMachineConfigSpec{NumCPUs: 4}))
}

func TestAbsurdSizesAreRefused(t *testing.T) {
	h := person(t, sim.Options{})
	for _, spec := range []types.VirtualMachineConfigSpec{{NumCPUs: 100000}, {NumCPUs: -1}, {MemoryMB: 1 << 30}, {MemoryMB: 33}} {
		refused[*types.InvalidArgument](t, h.reconfigure(ordinary, spec))
		refused[*types.InvalidArgument](t, h.clone(template, root, "a", func(s *types.VirtualMachineCloneSpec) { s.Config = &spec }))
	}
}

func TestAStaleChangeVersionIsRefused(t *testing.T) {
	h := person(t, sim.Options{})
	first := h.config(ordinary).ChangeVersion
	set := func(version, value string) error {
		return h.reconfigure(ordinary, types.VirtualMachineConfigSpec{
			ChangeVersion: version, ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "k", Value: value}},
		})
	}
	must(t, set(first, "1"))
	second := h.config(ordinary).ChangeVersion
	if second == first {
		t.Error("the change version did not change")
	}
	refused[*types.ConcurrentAccess](t, set(first, "2"))
	must(t, set(second, "3"))
	must(t, set("", "4"))
}

func TestRemovingAKeyThatIsNotThereAddsNothing(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.Set(h.ctx, ordinary, map[string]string{"k": ""}))
	if v, ok := object.OptionValueList(h.config(ordinary).ExtraConfig).GetString("k"); ok {
		t.Errorf("the key is there, with value %q", v)
	}
}
