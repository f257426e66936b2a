package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
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

func removalHeld(in *Input) {
	in.Hold = &RemovalHold{Blocker: Blocker{Reason: v1alpha1.ReasonMassDeletion, Message: "Held.", Terminal: true}, Until: epoch.Add(time.Minute)}
}

func TestWhatIsHeldRunsOn(t *testing.T) {
	const held, until = "MassDeletion!", time.Minute
	runRules(t, []rule{
		{"of a group that is deleted", input(2, healthy(0, 1), deleting, removalHeld),
			want{vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2, blockers: held, wakeIn: until}, nil},
		{"of a group that wants fewer", input(1, healthy(0, 1), removalHeld),
			want{vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2, blockers: held, wakeIn: until}, nil},
		{"and what has a tombstone is not destroyed", input(1, healthy(0), sees(makeVM(1, marked, power(vsphere.PoweredOff))), knowsOrdinals(1), removalHeld),
			want{vms: "0:Ready 1:Deleting", doomed: "1", existing: 1, ready: 1, updated: 1, blockers: held, wakeIn: until}, nil},
		{"a VM that is off stays off", input(1, sees(makeVM(0, power(vsphere.PoweredOff))), knowsOrdinals(0), deleting, removalHeld),
			want{vms: "0:Unhealthy", existing: 1, updated: 1, blockers: held, wakeIn: until}, nil},
		{"no blocker if no VM leaves", input(2, healthy(0, 1), removalHeld),
			want{vms: "0:Ready 1:Ready", existing: 2, ready: 2, updated: 2, settled: true}, nil},
	})
	if p := Compute(input(2, goneVMs(0, 1), deleting, removalHeld)); !p.Gone {
		t.Errorf("a group that has nothing to keep is kept: %+v", p)
	}
	if p := Compute(input(2, healthy(0, 1), deleting, removalHeld)); p.Held == nil || p.Gone || p.Settled {
		t.Errorf("a hold of two VMs is not reported: %+v", p)
	}
}

// TestAHoldIsNotForWhatIsReplaced: while the update's maximum number of VMs is not exceeded, replaced VMs continue to
// leave. Beyond that number, the reason for which one leaves is unknown.
func TestAHoldIsNotForWhatIsReplaced(t *testing.T) {
	for _, test := range []struct {
		name    string
		in      Input
		actions string
	}{
		{"as many as an update may have", input(2, has(makeVM(0, marked, outdated), makeVM(1, outdated), makeVM(2)), doomed(0)), "PowerOffVM web-0"},
		{"one that is not older", input(2, has(makeVM(0, marked), makeVM(1, outdated), makeVM(2)), doomed(0)), ""},
		{"more", input(2, has(makeVM(0, marked, outdated), makeVM(1, outdated), makeVM(2), makeVM(3)), doomed(0)), ""},
	} {
		test.in.Rollout = &Rollout{Revision: revision, From: []string{"1-old"}, Start: epoch}
		removalHeld(&test.in)
		p := Compute(test.in)
		if got := actionsOf(p); got != test.actions || (p.Held == nil) != (test.actions != "") {
			t.Errorf("%s: actions are [%s], want [%s]; held is %v", test.name, got, test.actions, p.Held)
		}
	}
}
