package plan

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// theirs is a VM with the stamp of the installation called old.
func theirs(vm *vsphere.VM) {
	s := *vm.Stamp
	s.Installation = "old"
	vm.Stamp = &s
}

func succeeds(in *Input) { in.Predecessor = "old" }

func TestVMsOfAnotherInstallationAreNeverDoubled(t *testing.T) {
	const held = "AnotherInstallation!"
	for _, test := range []struct {
		name string
		in   Input
		want want
	}{
		{"recorded", input(2, has(makeVM(0, theirs), makeVM(1, theirs))),
			want{blockers: held, vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2}},
		{"one of two, and more are wanted", input(3, healthy(0), has(makeVM(1, theirs))),
			want{blockers: held, vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2}},
		{"fewer are wanted", input(0, has(makeVM(0, theirs))), want{blockers: held, vms: "0:Ready", existing: 1, ready: 1, updated: 1}},
		{"the group is deleted", input(1, has(makeVM(0, theirs)), deleting), want{blockers: held, vms: "0:Ready", existing: 1, ready: 1, updated: 1}},
		{"one was doomed by that installation", input(1, has(makeVM(0, theirs, marked)), doomed(0)),
			want{blockers: held, vms: "0:Deleting", doomed: "0", existing: 0}},
		{"not recorded, and just as a clone of this group looks", input(1, sees(makeVM(0, theirs))),
			want{blockers: held, vms: "0:Ready", existing: 1, ready: 1, updated: 1}},
		{"powered off", input(1, has(makeVM(0, theirs, power(vsphere.PoweredOff)))), want{blockers: held, vms: "0:Unhealthy", existing: 1, updated: 1}},
		{"a copy of a VM of ours is a copy, also with the stamp of another installation", input(1, healthy(0), sees(makeVM(0, theirs, ref("vm-9"), called("copy"), outside))),
			want{vms: "0:Ready", existing: 1, ready: 1, updated: 1, settled: true}},
		{"left to this installation: stamped anew before anything else is done", input(3, has(makeVM(0, theirs), makeVM(1, theirs)), succeeds),
			want{actions: "RestampVM web-0, RestampVM web-1", blockers: "Restamping", vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2}},
		{"of two installations", input(2, has(makeVM(0, theirs), makeVM(1, func(vm *vsphere.VM) {
			theirs(vm)
			vm.Stamp.Installation = "older"
		})), succeeds), want{blockers: held, vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2}},
		{"left to this one, of a group that is deleted", input(1, has(makeVM(0, theirs)), deleting, succeeds),
			want{actions: "RestampVM web-0", blockers: "Restamping", vms: "0:Ready", existing: 1, ready: 1, updated: 1}},
		{"left to this one, and paused", input(1, has(makeVM(0, theirs)), paused, succeeds),
			want{blockers: "Paused, Restamping", vms: "0:Ready", existing: 1, ready: 1, updated: 1}},
		{"left to this one, and the inventory is incomplete", input(1, has(makeVM(0, theirs)), incomplete, succeeds),
			want{blockers: "InventoryIncomplete, Restamping", vms: "0:Ready", existing: 1, ready: 1, updated: 1}},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, test.in, test.want) })
	}
}

func TestAVMOfThePredecessorOnADisconnectedHostIsNamed(t *testing.T) {
	p := Compute(input(2, has(makeVM(0, theirs), makeVM(1, theirs, disconnected)), succeeds))
	if len(p.Actions) != 1 || p.Actions[0].Ordinal != 0 || !strings.Contains(p.Blockers[0].Message, "web-1 (vm-101) (its host is disconnected; ask a hub administrator to bring its host back)") {
		t.Errorf("actions %+v, blockers %+v", p.Actions, p.Blockers)
	}
}
