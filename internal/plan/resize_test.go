package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// resizing is a group of 1 whose VM must get 2 CPUs instead of 1, and can be missing in that time.
func resizing(edit func(*vsphere.VM, *Known)) Input {
	vm, k := makeVM(0), makeKnown(0)
	vm.CPU, vm.MemoryMiB, vm.Stamp.Revision = 1, 4096, resized.Revision
	edit(&vm, &k)
	in := input(1, sees(vm), knows(k))
	in.Shapes = []Shape{{Recorded: resized}}
	in.Rollout = &Rollout{Revision: revision, From: []string{resized.Revision}, Start: epoch}
	in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)}
	return in
}

func TestChangeThatFails(t *testing.T) {
	off := func(vm *vsphere.VM, k *Known) { vm.Power, k.ReadySince = vsphere.PoweredOff, time.Time{} }
	denied := func(in *Input) {
		failed(vsphere.Failure{
			Kind: vsphere.OpReconfigure, RetryAt: epoch.Add(time.Minute), Revision: in.Revision, Err: said{vsphere.KindPermission, "VirtualMachine.Config.CPUCount is missing."},
		})(in)
	}
	for _, test := range []struct {
		name    string
		in      Input
		fails   bool
		actions string
	}{
		{"a VM that was not started yet is changed first", resizing(off), false, "ReconfigureVM web-0"},
		{"and started as it is if that fails", resizing(off), true, "PowerOnVM web-0"},
		{"so is one that was stopped for that: a person has to act first", resizing(func(vm *vsphere.VM, k *Known) { off(vm, k); k.Updating = true }), true, "PowerOnVM web-0"},
		{"one that is on is not stopped again", resizing(func(_ *vsphere.VM, k *Known) { k.Updating = true }), true, ""},
		{"and is reported", resizing(func(_ *vsphere.VM, k *Known) { k.Updating = true }), false, "PowerOffVM web-0"},
	} {
		if test.fails {
			denied(&test.in)
		}
		p := Compute(test.in)
		if got := actionsOf(p); got != test.actions || test.fails && blockersOf(p) != "PermissionDenied!" {
			t.Errorf("%s: actions are [%s], want [%s]; blockers are %s", test.name, got, test.actions, blockersOf(p))
		}
	}
}

// TestAGuestThatWasAskedMayStillGoDown: an update that has stopped asked a guest to shut down. Its VM powers off later,
// and that does not count as a change from outside.
func TestAGuestThatWasAskedMayStillGoDown(t *testing.T) {
	in := resizing(func(vm *vsphere.VM, k *Known) {
		vm.ToolsRunning, k.Updating, k.ShutdownTime = true, true, epoch.Add(-time.Minute)
	})
	in.Spec.UpdateStrategy.Paused = true
	p := Compute(in)
	if s := vmStatus(t, p, 0); !s.Updating || s.Available || !s.ShutdownTime.Equal(epoch.Add(-time.Minute)) || actionsOf(p) != "" {
		t.Errorf("it is %+v, actions are %s", s, actionsOf(p))
	}
	if want := epoch.Add(12 * time.Minute); !p.WakeAt.Equal(want) {
		t.Errorf("wakes at %s, want %s", p.WakeAt, want)
	}
	in.Now = epoch.Add(12 * time.Minute)
	if s := vmStatus(t, Compute(in), 0); s.Updating || !s.Available {
		t.Errorf("after the wait, the VM is %+v, want available", s)
	}
	in.Now, in.Known[0].Phase, in.Observation.VMs[0].Power = epoch, v1alpha1.VMStarting, vsphere.PoweredOff
	in.Spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
	if p := Compute(in); actionsOf(p) != "PowerOnVM web-0" || p.Repairing {
		t.Errorf("it went down, and actions are [%s], repairing %t", actionsOf(p), p.Repairing)
	}
}

// TestAGuestThatDoesNotShutDownKeepsItsVMOnceNoneMayBeMissing: an edit allows fewer to be missing after its guest was
// asked. The VM runs as before, so a power-off would take one away. It is powered off once another is available. Its
// guest is not asked again before, even when the request has expired.
func TestAGuestThatDoesNotShutDownKeepsItsVMOnceNoneMayBeMissing(t *testing.T) {
	edited := func(others ...option) Input {
		in := resizing(func(vm *vsphere.VM, k *Known) {
			vm.ToolsRunning, k.Updating, k.Phase, k.ShutdownTime = true, true, v1alpha1.VMStarting, epoch.Add(-4*time.Minute)
		})
		in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(1), MaxUnavailable: number(0)}
		for _, o := range others {
			o(&in)
		}
		return in
	}
	in := edited()
	in.Spec.UpdateStrategy.MaxUnavailable = number(1)
	if got := actionsOf(Compute(in)); got != "PowerOffVM web-0" {
		t.Fatalf("one may be missing, and actions are [%s]", got)
	}
	if got := actionsOf(Compute(edited(knows(intent(1, 0)), running(vsphere.OpClone, 1, time.Second)))); got != "" {
		t.Errorf("none may be missing while another is cloned, and actions are [%s]", got)
	}
	if got := actionsOf(Compute(edited())); got != "CreateVM web-1" {
		t.Errorf("none may be missing, and actions are [%s]", got)
	}
	if p := Compute(edited(func(in *Input) { in.Surge = SurgeRoom{} })); actionsOf(p) != "" || p.Update.Reason != v1alpha1.ReasonWaitingForQuota {
		t.Errorf("there is no room for another: %q, actions are [%s]", p.Update.Message, actionsOf(p))
	}
	if got := actionsOf(Compute(edited(has(makeVM(1))))); got != "PowerOffVM web-0" {
		t.Errorf("another is available, and actions are [%s]", got)
	}
	in = edited(func(in *Input) { in.Surge = SurgeRoom{} })
	in.Now = in.Known[0].ShutdownTime.Add(14 * time.Minute)
	if got := actionsOf(Compute(in)); got != "" {
		t.Errorf("the request has lapsed, none may be missing, and actions are [%s]", got)
	}
}

// TestAVMWhosePowerOffIsUnderWayIsStartedAgainThoughTheUpdateStopsMeanwhile: it still shows as on. When it is off, its
// status continues to attribute that to the update: otherwise, with repair Observe, it would not be started.
func TestAVMWhosePowerOffIsUnderWayIsStartedAgainThoughTheUpdateStopsMeanwhile(t *testing.T) {
	in := resizing(func(_ *vsphere.VM, k *Known) { k.Updating, k.Phase = true, v1alpha1.VMStarting })
	in.Spec.UpdateStrategy.Paused = true
	in.Spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
	running(vsphere.OpPowerOff, 0, time.Second)(&in)
	if s := vmStatus(t, Compute(in), 0); !s.Updating {
		t.Errorf("it is %+v while its power-off is under way", s)
	}
	in.Observation.InFlight = nil
	if s := vmStatus(t, Compute(in), 0); s.Updating || !s.Available {
		t.Errorf("its power-off failed, and it is %+v", s)
	}
	in.Observation.VMs[0].Power, in.Known[0].ReadySince = vsphere.PoweredOff, time.Time{}
	if p := Compute(in); actionsOf(p) != "PowerOnVM web-0" {
		t.Errorf("it went down, and actions are [%s]", actionsOf(p))
	}
}

// TestAVMWhosePowerOffFailsIsReadySinceBefore: it ran all the time. Otherwise each pass would write another time into
// status.
func TestAVMWhosePowerOffFailsIsReadySinceBefore(t *testing.T) {
	in := resizing(func(_ *vsphere.VM, k *Known) {
		k.Updating, k.Phase, k.StoppedAt = true, v1alpha1.VMFailed, epoch.Add(-2*time.Second)
	})
	failed(vsphere.Failure{
		Kind: vsphere.OpPowerOff, At: epoch.Add(-time.Second), RetryAt: epoch.Add(time.Minute), Err: said{vsphere.KindPermission, "VirtualMachine.Interact.PowerOff is missing."},
	})(&in)
	p := Compute(in)
	if s := vmStatus(t, p, 0); s.Phase != v1alpha1.VMFailed || !s.Updating || !s.ReadySince.Equal(in.Known[0].ReadySince) || actionsOf(p) != "" {
		t.Errorf("it is %+v, actions are [%s]", s, actionsOf(p))
	}
}
