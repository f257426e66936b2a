package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// answers is a VM whose guest has a heartbeat and an address, and has published a value.
func answers(vm *vsphere.VM) {
	vm.ToolsRunning, vm.HeartbeatGreen, vm.GuestIP, vm.GuestInfo, vm.GuestInfoKnown = true, true, "10.0.0.2", "yes", true
}

// judgedBy is the status record of a gate.
func judgedBy(name string, ago time.Duration) option {
	return func(in *Input) { in.Gate = Gate{Name: name, Since: epoch.Add(-ago)} }
}

var ip = string(v1alpha1.GateGuestIP)

// TestAVMCountsAnewForAGateThatTheOneBeforeDoesNotImply: how long it has passed another gate does not count for this
// one.
func TestAVMCountsAnewForAGateThatTheOneBeforeDoesNotImply(t *testing.T) {
	value := func(v string) *v1alpha1.GuestInfoGate {
		return &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: v}
	}
	yes, no := gateName(v1alpha1.GatePoweredOn, value("yes")), gateName(v1alpha1.GatePoweredOn, value("no"))
	heartbeat, on := v1alpha1.GateGuestHeartbeat, v1alpha1.GatePoweredOn
	for name, test := range map[string]struct {
		was  string
		gate v1alpha1.ReadinessGate
		info *v1alpha1.GuestInfoGate
		anew bool
	}{
		"the same gate":                        {ip, v1alpha1.GateGuestIP, nil, false},
		"a stricter gate":                      {"", v1alpha1.GateGuestIP, nil, true},
		"a looser gate":                        {ip, on, nil, false},
		"another gate":                         {string(heartbeat), v1alpha1.GateGuestIP, nil, true},
		"a value beside the gate":              {ip, v1alpha1.GateGuestIP, value("yes"), true},
		"the same value":                       {yes, on, value("yes"), false},
		"another value":                        {no, on, value("yes"), true},
		"the same value, and a stricter gate":  {yes, v1alpha1.GateGuestIP, value("yes"), true},
		"the same value, and a looser gate":    {ip + yes, on, value("yes"), false},
		"no value any more":                    {ip + yes, v1alpha1.GateGuestIP, nil, false},
		"a gate that a user wrote by hand":     {"Always", heartbeat, nil, true},
		"a looser gate than one without sense": {"Always", on, nil, false},
	} {
		in := input(1, has(makeVM(0, answers)), spec(gate(test.gate, 60)), judgedBy(test.was, time.Hour))
		in.Spec.Readiness.GuestInfo = test.info
		p := Compute(in)
		s := vmStatus(t, p, 0)
		if s.Available == test.anew || s.Phase != v1alpha1.VMReady || !s.ReadySince.Equal(in.Known[0].ReadySince) {
			t.Errorf("%s: %s since %s, available %t", name, s.Phase, s.ReadySince, s.Available)
		}
		want := Gate{Name: gateName(test.gate, test.info), Since: in.Gate.Since}
		switch {
		case test.anew:
			want.Since = epoch
		case want.Name == "":
			want.Since = time.Time{}
		}
		if p.Gate != want || test.anew && !p.WakeAt.Equal(epoch.Add(time.Minute)) {
			t.Errorf("%s: judged by %v, not by %v; it looks again at %s", name, p.Gate, want, p.WakeAt)
		}
		in.Gate, in.Now = p.Gate, epoch.Add(time.Minute)
		if s := vmStatus(t, Compute(in), 0); !s.Available {
			t.Errorf("%s: a minute later it is not available", name)
		}
	}
}

// TestAGateThatCameAndWentCountsAnew: no pass observed the gate in between.
func TestAGateThatCameAndWentCountsAnew(t *testing.T) {
	in := input(1, has(makeVM(0, answers)), spec(gate(v1alpha1.GateGuestIP, 60)), judgedBy(ip, time.Hour))
	for _, g := range []v1alpha1.ReadinessGate{v1alpha1.GatePoweredOn, v1alpha1.GateGuestIP} {
		in.Spec.Readiness.Gate = g
		p := Compute(in)
		if s := vmStatus(t, p, 0); s.Available != (g == v1alpha1.GatePoweredOn) {
			t.Errorf("%s: available %t", g, s.Available)
		}
		in.Gate = p.Gate
	}
}

// TestAGateFromTheFutureCountsFromNowOn: a clock was fast, or a user wrote it.
func TestAGateFromTheFutureCountsFromNowOn(t *testing.T) {
	in := input(1, has(makeVM(0, answers)), spec(gate(v1alpha1.GateGuestIP, 60)), judgedBy(ip, -time.Hour))
	if p := Compute(in); p.Gate != (Gate{Name: ip, Since: epoch}) {
		t.Errorf("judged by %v", p.Gate)
	}
}

// TestAnUpdateTakesNoVMAwayForOneThatAnotherGateCounted: both have passed the old gate for long enough, but the new one
// for no time.
func TestAnUpdateTakesNoVMAwayForOneThatAnotherGateCounted(t *testing.T) {
	for was, want := range map[string]string{ip: "0", "": ""} {
		in := input(1, has(makeVM(0, outdated, answers), makeVM(1, answers)), spec(gate(v1alpha1.GateGuestIP, 30)), judgedBy(was, time.Hour), func(in *Input) {
			in.Rollout = &Rollout{Revision: revision, From: []string{"1-old"}, Start: epoch.Add(-time.Hour)}
		})
		if p := Compute(in); doomedOf(p) != want {
			t.Errorf("judged by %q before: %q leaves", was, doomedOf(p))
		}
	}
}

// TestAVMThatWasAvailableByAnotherGateIsNotTakenForOneThatIsMissing: one can be missing, and the host of one is lost. A
// new gate does not make the others free to be taken away.
func TestAVMThatWasAvailableByAnotherGateIsNotTakenForOneThatIsMissing(t *testing.T) {
	in := input(3, has(makeVM(0, outdated, answers), makeVM(1, outdated, answers), makeVM(2, outdated, disconnected)), spec(gate(v1alpha1.GateGuestIP, 30)), func(in *Input) {
		in.Rollout = &Rollout{Revision: revision, From: []string{"1-old"}, Start: epoch.Add(-time.Hour)}
		in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)}
	})
	if p := Compute(in); doomedOf(p) != "" {
		t.Errorf("%q leaves", doomedOf(p))
	}
}

// ofResized is a VM of revision [resized].
func ofResized(vm *vsphere.VM) { s := *vm.Stamp; s.Revision = resized.Revision; vm.Stamp = &s }

// TestAVMThatAwaitsItsStopLetsTheNextGoFirstAfterANewGate: web-1 was chosen for a restart, and no action was taken
// before spec got another gate. web-2 has never been available, so its restart costs nothing.
func TestAVMThatAwaitsItsStopLetsTheNextGoFirstAfterANewGate(t *testing.T) {
	in := input(2, has(makeVM(0, ofResized, answers), makeVM(1, ofResized, answers), makeVM(2, ofResized, answers)), spec(gate(v1alpha1.GateGuestIP, 30)), judgedBy("", time.Hour), func(in *Input) {
		in.Rollout = &Rollout{Revision: revision, From: []string{resized.Revision}, Start: epoch.Add(-time.Hour)}
		in.Shapes, in.Surge = []Shape{{Recorded: resized}}, muchRoom
		chosen, young := &in.Known[1], &in.Known[2]
		chosen.Updating, chosen.StoppedAt, chosen.Phase = true, epoch.Add(-time.Second), v1alpha1.VMStarting
		young.ReadySince, young.Phase = time.Time{}, v1alpha1.VMStarting
	})
	p := Compute(in)
	checkRules(t, in, p)
	if got := actionsOf(p); got != "ShutdownGuest web-2" {
		t.Errorf("actions are %q", got)
	}
}

// TestAScaleDownKeepsWhatWasAvailableByAnotherGate: the VM that was sick until now leaves, not the newest.
func TestAScaleDownKeepsWhatWasAvailableByAnotherGate(t *testing.T) {
	in := input(1, has(makeVM(0, answers), makeVM(1, answers)), spec(gate(v1alpha1.GateGuestIP, 30)))
	in.Known[0].Phase = v1alpha1.VMUnhealthy
	if p := Compute(in); doomedOf(p) != "0" {
		t.Errorf("%q leaves", doomedOf(p))
	}
}

// TestARevisionIsNotProvenByAnotherGate: a VM of the target that passed the old gate, but not the new one, does not
// prove that its template works.
func TestARevisionIsNotProvenByAnotherGate(t *testing.T) {
	for was, want := range map[string]string{ip: revision, "": "1-old"} {
		in := input(2, has(makeVM(0, outdated, answers), makeVM(1)), spec(gate(v1alpha1.GateGuestIP, 30)), judgedBy(was, time.Hour), func(in *Input) {
			in.Rollout = &Rollout{Revision: revision, From: []string{"1-old"}, Start: epoch.Add(-time.Hour)}
			in.Shapes = []Shape{{Recorded: v1alpha1.Revision{Revision: "1-old", VMShape: v1alpha1.VMShape{CPU: 2, Memory: 4, Template: "debian-11"}}}}
			in.Spec.Replicas, in.Spec.UpdateStrategy = ptr(int32(3)), &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)}
		})
		for _, a := range Compute(in).Actions {
			if a.Kind == CreateVM && a.Revision != want {
				t.Errorf("judged by %q before: cloned is %q, not %q", was, a.Revision, want)
			}
		}
	}
}

// TestAVMOutOfSightThatNobodySawPassANewGateCountsAnew: it is back long after spec got the gate.
func TestAVMOutOfSightThatNobodySawPassANewGateCountsAnew(t *testing.T) {
	in := input(1, awayVMs(0), spec(gate(v1alpha1.GateGuestIP, 60)))
	for _, phase := range []v1alpha1.VMPhase{v1alpha1.VMReady, v1alpha1.VMLost} {
		in.Known[0].Phase = phase
		p := Compute(in)
		s := vmStatus(t, p, 0)
		back := input(1, has(makeVM(0, answers)), spec(gate(v1alpha1.GateGuestIP, 60)), func(in *Input) {
			in.Now, in.Gate = epoch.Add(time.Hour), p.Gate
			in.Known[0].ReadySince, in.Known[0].StartTime, in.Known[0].Phase = s.ReadySince, s.StartTime, s.Phase
		})
		if s := vmStatus(t, Compute(back), 0); s.Available || !s.ReadySince.Equal(back.Now) {
			t.Errorf("it was %s: ready since %s, available %t", phase, s.ReadySince, s.Available)
		}
	}
}
