package plan

import (
	"reflect"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestLimit(t *testing.T) {
	in := input(6, has(makeVM(0, marked)), has(makeVM(1, power(vsphere.PoweredOff))), goneVMs(2), knows(intent(3, 0)), healthy(7))
	p := Compute(in)
	const all = "PowerOffVM web-0, PowerOnVM web-1, CreateVM web-2, CreateVM web-3, CreateVM web-4, CreateVM web-5"
	if got := actionsOf(p); got != all {
		t.Fatalf("actions are %q, want %q", got, all)
	}
	if p.Creates() != 4 || p.Tasks() != 2 {
		t.Errorf("%d creates and %d tasks, want 4 and 2", p.Creates(), p.Tasks())
	}
	before := Compute(in)
	for _, test := range []struct {
		clones, others int
		actions, vms   string
	}{
		{99, 99, all, "0:Deleting 1:Unhealthy 2:Cloning 3:Cloning 4:Cloning 5:Cloning 7:Ready"},
		{3, 1, "PowerOffVM web-0, CreateVM web-2, CreateVM web-3, CreateVM web-4",
			"0:Deleting 1:Unhealthy 2:Cloning 3:Cloning 4:Cloning 5:Pending 7:Ready"},
		{0, 2, "PowerOffVM web-0, PowerOnVM web-1", "0:Deleting 1:Unhealthy 2:Pending 3:Pending 4:Pending 5:Pending 7:Ready"},
		{-1, -1, "", "0:Deleting 1:Unhealthy 2:Pending 3:Pending 4:Pending 5:Pending 7:Ready"},
	} {
		l := p.Limit(test.clones, test.others)
		if got := actionsOf(l); got != test.actions {
			t.Errorf("Limit(%d, %d) does %q, want %q", test.clones, test.others, got, test.actions)
		}
		if got := vmsOf(l); got != test.vms {
			t.Errorf("Limit(%d, %d) keeps vms %q, want %q", test.clones, test.others, got, test.vms)
		}
		if l.Settled || doomedOf(l) != "0" {
			t.Errorf("Limit(%d, %d): settled %t, doomed [%s]", test.clones, test.others, l.Settled, doomedOf(l))
		}
	}
	if !reflect.DeepEqual(before, p) {
		t.Error("Limit changed the plan that it was called on")
	}
}

func TestGuestShutdownCostsNothing(t *testing.T) {
	p := Compute(input(1, has(makeVM(0, tools)), spec(wantOff)))
	if p.Tasks() != 0 || actionsOf(p.Limit(0, 0)) != "ShutdownGuest web-0" {
		t.Errorf("%d tasks; limited to nothing it does %q", p.Tasks(), actionsOf(p.Limit(0, 0)))
	}
}
