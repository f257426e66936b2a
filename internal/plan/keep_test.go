package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// keeping is a group that is being deleted and keeps its VMs.
func keeping(in *Input) { in.Deleting, in.Keep = true, true }

func TestTheVMsOfAReleasedGroupStay(t *testing.T) {
	for _, c := range []struct {
		rule
		kept bool
	}{
		{rule{"as they are", input(3, keeping, healthy(0), has(makeVM(1, power(vsphere.PoweredOff)), makeVM(2, disconnected))),
			want{vms: "0:Ready 1:Unhealthy 2:Unhealthy", existing: 3, ready: 1, updated: 3}, nil}, true},
		{rule{"whatever spec says", input(0, keeping, healthy(0), spec(retain)), want{vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil}, true},
		{rule{"though they were chosen to leave", input(2, keeping, healthy(0, 1), doomed(0, 1)), want{vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2}, nil}, true},
		{rule{"those that were never recorded", input(1, keeping, sees(makeVM(0))), want{vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil}, true},
		{rule{"those that a user moved away", input(1, keeping, awayVMs(0), doomed(0)), want{vms: "0:Lost", blockers: "VMsLost!", existing: 1, updated: 1}, nil}, true},
		{rule{"a deleted VM is none of them", input(2, keeping, healthy(0), goneVMs(1), knows(intent(2, 0)), doomed(2)),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil}, true},
		{rule{"one with a tombstone leaves first", input(2, keeping, healthy(0), has(makeVM(1, marked, power(vsphere.PoweredOff))), doomed(0, 1)),
			want{actions: "DestroyVM web-1", vms: "0:Ready 1:Deleting", doomed: "1", existing: 1, ready: 1, updated: 1}, nil}, false},
		{rule{"one that is getting it does", input(2, keeping, healthy(0, 1), running(vsphere.OpMark, 1, 0), doomed(0, 1)),
			want{vms: "0:Ready 1:Deleting", doomed: "1", existing: 1, ready: 1, updated: 1}, nil}, false},
		{rule{"a clone is waited for", input(2, keeping, healthy(0), knows(intent(1, 0)), running(vsphere.OpClone, 1, 0), doomed(0, 1)),
			want{vms: "0:Ready 1:Cloning", existing: 1, ready: 1, updated: 1}, []string{"the VM is kept once it is there"}}, false},
		{rule{"any operation is", input(1, keeping, healthy(0), running(vsphere.OpPowerOn, 0, 0)), want{vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil}, false},
		{rule{"a VM that is not seen is", input(2, keeping, healthy(0), knowsOrdinals(1)),
			want{vms: "0:Ready 1:Lost", existing: 2, ready: 1, updated: 2}, nil}, false},
		{rule{"and may have a tombstone", input(2, keeping, healthy(0), knowsOrdinals(1), doomed(1)),
			want{vms: "0:Ready 1:Deleting", doomed: "1", existing: 1, ready: 1, updated: 1}, nil}, false},
		{rule{"an incomplete inventory says nothing", input(1, keeping, healthy(0), incomplete),
			want{blockers: "InventoryIncomplete", vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil}, false},
		{rule{"nothing is done while it is paused", input(1, keeping, healthy(0), paused),
			want{blockers: "Paused", vms: "0:Ready", existing: 1, ready: 1, updated: 1}, nil}, false},
		{rule{"without a VM it goes as any other", input(1, keeping, goneVMs(0)), want{settled: true, gone: true}, nil}, false},
	} {
		runRules(t, []rule{c.rule})
		if p := Compute(c.in); p.Kept != c.kept {
			t.Errorf("%s: kept is %t", c.name, p.Kept)
		}
	}
}

func TestVMsOfAnotherInstallationAreNotReleased(t *testing.T) {
	vm := makeVM(0)
	vm.Stamp.Installation = "another"
	if p := Compute(input(1, keeping, has(vm))); p.Kept || len(p.Actions) > 0 {
		t.Errorf("kept %t, %v", p.Kept, p.Actions)
	}
}

// checkKept: a group that keeps its VMs changes only those with a tombstone, and finishes only after their deletion.
func checkKept(fail func(string, ...any), in Input, p Plan) {
	if p.Kept && (!in.Keep || !in.Deleting || p.Gone || len(p.Doomed) > 0 || len(p.Actions) > 0 || len(in.Observation.InFlight) > 0 || in.Paused != nil || !in.Observation.Complete) {
		fail("kept, and something is left to do")
	}
	if !in.Keep || !in.Deleting {
		return
	}
	for _, a := range p.Actions {
		if a.Kind != RestampVM && !slices.ContainsFunc(in.Observation.VMs, func(vm vsphere.VM) bool { return vm.Ref.Value == a.MoRef && vm.Tombstone }) {
			fail("%s %s, which is kept", a.Kind, a.Name)
		}
	}
}

// A kept clone exists when it has ended, whenever that is.
func TestAKeptCloneIsInTheReceiptOnceItIsThere(t *testing.T) {
	in := input(1, keeping, knows(intent(0, 0)), running(vsphere.OpClone, 0, time.Minute))
	if Compute(in).Kept {
		t.Fatal("kept before the clone has ended")
	}
	in.Observation.InFlight = nil
	in.Observation.VMs = []vsphere.VM{makeVM(0)}
	if p := Compute(in); !p.Kept || len(p.VMs) != 1 || p.VMs[0].MoRef != moRefOf(0) {
		t.Errorf("%+v", p)
	}
}
