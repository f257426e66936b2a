package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestStrategy(t *testing.T) {
	for _, test := range []struct {
		surge, unavailable     *intstr.IntOrString
		desired                int32
		wantSurge, wantMissing int32
	}{
		{nil, nil, 5, 1, 0},
		{number(0), number(1), 5, 0, 1},
		{number(3), number(2), 1, 3, 2},
		{percent("30%"), percent("30%"), 5, 2, 1},
		{percent("1%"), percent("99%"), 3, 1, 2},
		{percent("0%"), percent("10%"), 3, 0, 1},
		{percent("0%"), percent("0%"), 3, 0, 1},
		{number(0), percent("10%"), 3, 0, 1},
		{percent("10%"), number(0), 0, 0, 1},
		{number(0), number(0), 3, 0, 0},
		{percent("much"), number(1), 3, 0, 1},
		{percent("foo"), number(0), 3, 0, 0},
		{number(0), percent("foo"), 3, 0, 0},
		{percent("10%"), percent("foo"), 3, 1, 0},
		{percent("0%"), percent("foo"), 3, 0, 0},
		{percent("-10%"), number(0), 3, 0, 0},
		{number(-1), number(-1), 3, 0, 0},
	} {
		s := strategyOf(&v1alpha1.UpdateStrategy{MaxSurge: test.surge, MaxUnavailable: test.unavailable}, test.desired)
		if s.surge != test.wantSurge || s.unavailable != test.wantMissing {
			t.Errorf("%v and %v of %d are %d and %d, want %d and %d", test.surge, test.unavailable, test.desired, s.surge, s.unavailable, test.wantSurge, test.wantMissing)
		}
	}
	if s := strategyOf(nil, 3); s.resize != v1alpha1.ResizeRestart || s.maxFailures != 1 || s.paused || s.onDelete {
		t.Errorf("without a strategy it is %+v", s)
	}
}

// TestAVMIsNotStoppedAnyMoreOnceAnotherIsMissing: it was chosen, and there was no slot to power it off. Meanwhile another one was lost.
func TestAVMIsNotStoppedAnyMoreOnceAnotherIsMissing(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	s.spec.Shutdown = &v1alpha1.Shutdown{Mode: v1alpha1.ShutdownHard}
	s.others = 0
	s.spec.CPU = 4
	s.looks(2)
	chosen := ""
	for _, k := range s.known {
		if k.Updating {
			chosen = k.MoRef
		}
	}
	sick := s.byName("web-0")
	if chosen == "" || chosen == sick.Ref.Value {
		t.Fatalf("chosen is %q", chosen)
	}
	sick.boot = 1000
	s.looks(1)
	s.others = 9
	s.watch = func(_ Input, p Plan) {
		for _, a := range p.Actions {
			vm := s.vms[a.MoRef]
			if a.Kind == PowerOffVM && vm.HeartbeatGreen && p.Ready < 2 {
				t.Errorf("%s is powered off, and %d are available", a.Name, p.Ready)
			}
		}
	}
	s.looks(3)
	sick.boot = 0
	s.until(settled)
}
