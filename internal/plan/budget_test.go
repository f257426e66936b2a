package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
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

// TestAVMIsNotStoppedAnyMoreOnceAnotherIsMissing: it was chosen, but no slot was free to power it off. Then another VM
// was lost. The chosen VM was available all the time, also if availability takes a while, or if the current replica has
// not read its guest's values yet.
func TestAVMIsNotStoppedAnyMoreOnceAnotherIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		readiness *v1alpha1.Readiness
		unread    bool
	}{
		"with a heartbeat":        {readiness: &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat}},
		"available after a while": {readiness: &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat, MinReadySeconds: 30}},
		"with a value that is not read yet": {
			readiness: &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat, GuestInfo: &v1alpha1.GuestInfoGate{Key: "guestinfo.app", Value: "up"}}, unread: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, 3)
			s.strategy(number(0), number(1))
			s.spec.Shutdown, s.spec.Readiness = &v1alpha1.Shutdown{Mode: v1alpha1.ShutdownHard}, test.readiness
			for _, vm := range s.sorted() {
				vm.GuestInfo, vm.GuestInfoKnown = "up", true
			}
			s.until(settled)
			chosen := s.chosen("web-2")[0]
			sick := s.byName("web-0")
			sick.boot = 1000
			s.looks(1)
			if s.others = 9; test.unread {
				s.crash()
				for _, vm := range s.sorted() {
					vm.GuestInfoKnown = false
				}
			}
			s.watch = func(_ Input, p Plan) {
				if chosen.Power != vsphere.PoweredOn || strings.Contains(actionsOf(p), "PowerOffVM web-2") {
					t.Errorf("%s is powered off, and %d are available", chosen.Name, p.Ready)
				}
			}
			s.looks(6)
			s.watch, sick.boot = nil, 0
			for _, vm := range s.sorted() {
				vm.GuestInfoKnown = true
			}
			s.until(settled)
		})
	}
}

// TestTheOthersThatWereChosenGoOnWhereOneHostStaysAway: as many are stopped as can be missing in addition to it.
func TestTheOthersThatWereChosenGoOnWhereOneHostStaysAway(t *testing.T) {
	for _, test := range []struct {
		vms     int32
		missing int
		chosen  []string
		stopped string
	}{
		{4, 2, []string{"web-2", "web-3"}, "PowerOffVM web-3"},
		{8, 3, []string{"web-5", "web-6", "web-7"}, "PowerOffVM web-6, PowerOffVM web-7"},
		{3, 1, []string{"web-2"}, ""},
	} {
		s := newSaga(t, test.vms)
		s.strategy(number(0), number(test.missing))
		s.spec.Shutdown = &v1alpha1.Shutdown{Mode: v1alpha1.ShutdownHard}
		s.chosen(test.chosen...)
		s.byName("web-0").Connection = vsphere.Disconnected
		s.looks(1)
		s.others = 9
		p := s.step(nil)
		if got := actionsOf(p); got != test.stopped {
			t.Errorf("%d of %d may be missing: actions are [%s], want [%s]", test.missing, test.vms, got, test.stopped)
		}
		s.tick()
		if test.missing > 1 {
			s.until(updated(test.vms - 1)) // all but the one on the lost host
		}
	}
}

// TestAChosenVMThatIsNotReadyForAWhileHasToShowItselfAnew: no action stopped it, but it became unavailable on its own.
func TestAChosenVMThatIsNotReadyForAWhileHasToShowItselfAnew(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	s.spec.Shutdown = &v1alpha1.Shutdown{Mode: v1alpha1.ShutdownHard}
	s.spec.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat, MinReadySeconds: 30}
	s.until(settled)
	chosen := s.chosen("web-2")[0]
	chosen.HeartbeatGreen = false
	s.step(nil)
	s.tick()
	back := s.now
	s.watch = func(_ Input, p Plan) {
		if p.VMs[2].Available && s.now.Before(back.Add(30*time.Second)) {
			t.Errorf("%s is available %s after its heartbeat returned", chosen.Name, s.now.Sub(back))
		}
	}
	s.byName("web-0").boot = 1000
	s.looks(5)
	if p := s.step(nil); !p.VMs[2].Available {
		t.Error("it is not available again")
	}
}

// chosen asks for another size, while no slot is free to power off a VM, and returns the VMs chosen for it.
func (s *saga) chosen(want ...string) []*simVM {
	s.t.Helper()
	s.others = 0
	s.spec.CPU = 4
	s.looks(1)
	s.rollout.Tried = true // otherwise one is chosen at a time
	s.looks(2)
	var names []string
	var vms []*simVM
	for _, k := range s.known {
		if vm := s.vms[k.MoRef]; k.Updating {
			names, vms = append(names, vm.Name), append(vms, vm)
		}
	}
	if !slices.Equal(names, want) {
		s.t.Fatalf("%v are chosen, want %v", names, want)
	}
	return vms
}
