package plan

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func mayStay(n int32) option { return func(in *Input) { in.MayStay = n } }

func TestAHoldKeepsAGroupFromGrowingAndTakesNothing(t *testing.T) {
	runRules(t, []rule{
		{"what is there beyond what was admitted stays", input(2, healthy(0, 1, 2), mayStay(4)),
			want{vms: "0:Ready 1:Ready 2:Ready", existing: 3, ready: 3, updated: 3, settled: true}, nil},
		{"what spec does not ask for leaves", input(2, healthy(0, 1, 2, 3), mayStay(3)),
			want{actions: "MarkVM web-3", vms: "0:Ready 1:Ready 2:Ready 3:Deleting", doomed: "3", existing: 3, ready: 3, updated: 3}, nil},
		{"what is lost beyond what was admitted does not come back", input(2, healthy(0, 1), goneVMs(2), mayStay(4)),
			want{vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2, settled: true}, nil},
		{"what is lost of what was admitted does", input(2, healthy(0), goneVMs(1), mayStay(4)),
			want{actions: "CreateVM web-1", vms: "0:Ready 1:Cloning", existing: 1, ready: 1, updated: 1, repairing: true}, nil},
		{"of a group that is being deleted nothing stays", input(2, healthy(0), deleting, mayStay(4)),
			want{actions: "MarkVM web-0", vms: "0:Deleting", doomed: "0"}, nil},
	})
}

func TestAHoldMakesNoNumberUpForASpecWithoutOne(t *testing.T) {
	in := input(0, healthy(0), mayStay(1))
	in.Spec = v1alpha1.VmGroupSpec{}
	if p := Compute(in); p.Desired != 0 || len(p.Actions) != 0 {
		t.Errorf("desired %d, actions %v", p.Desired, p.Actions)
	}
}

func TestWhichVMsAreUpToDateIsToldByWhatSpecAsksFor(t *testing.T) {
	in := input(1, healthy(0))
	in.UpdateRevision = "1-asked"
	p := Compute(in)
	if p.Updated != 0 || len(p.Outdated) != 1 || len(p.Actions) != 0 {
		t.Errorf("updated %d, outdated %v, actions %v", p.Updated, p.Outdated, p.Actions)
	}
}

func TestAStampOfAnotherGroupIsNone(t *testing.T) {
	vm := makeVM(0)
	vm.Stamp.Group = "another"
	in := input(1, sees(vm))
	p := Compute(in)
	if len(p.Foreign) != 1 || p.Foreign[0].Copy || !p.Foreign[0].TakesName {
		t.Errorf("foreign: %+v", p.Foreign)
	}
	if in.Observation.VMs[0].Stamp == nil {
		t.Error("the caller's VM was changed")
	}
}
