package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// underWay is a group of 1 that is updated from revision "1-old": web-0 is old and available, web-1 new.
func underWay(edits ...func(*vsphere.VM, *Known)) Input {
	in := input(1, has(makeVM(0, outdated)), gate1)
	vm, k := makeVM(1), makeKnown(1)
	k.ReadySince, k.Phase = time.Time{}, v1alpha1.VMStarting
	for _, edit := range edits {
		edit(&vm, &k)
	}
	in.Known, in.Observation.VMs = append(in.Known, k), append(in.Observation.VMs, vm)
	in.Observation.VMs[0].GuestIP = "10.0.0.1"
	in.Rollout = &Rollout{Revision: revision, From: []string{"1-old"}, Start: epoch.Add(-time.Hour)}
	return in
}

func gate1(in *Input) { gate(v1alpha1.GateGuestIP, 0)(&in.Spec) }

func TestStartTime(t *testing.T) {
	ago := func(d time.Duration) func(*vsphere.VM, *Known) {
		return func(_ *vsphere.VM, k *Known) { k.StartTime = epoch.Add(-d) }
	}
	never := time.Time{}
	for name, test := range map[string]struct {
		edits []func(*vsphere.VM, *Known)
		want  time.Time
		fails bool
	}{
		"first seen on":             {nil, epoch, false},
		"kept by a takeover":        {[]func(*vsphere.VM, *Known){ago(599 * time.Second)}, epoch.Add(-599 * time.Second), false},
		"had its time":              {[]func(*vsphere.VM, *Known){ago(600 * time.Second)}, epoch.Add(-600 * time.Second), true},
		"of a clock that ran ahead": {[]func(*vsphere.VM, *Known){ago(-time.Minute)}, epoch, false},
		"off":                       {[]func(*vsphere.VM, *Known){ago(time.Hour), func(vm *vsphere.VM, _ *Known) { vm.Power = vsphere.PoweredOff }}, never, false},
		"ready":                     {[]func(*vsphere.VM, *Known){ago(time.Hour), func(vm *vsphere.VM, _ *Known) { vm.GuestIP = "10.0.0.2" }}, never, false},
		"ready before":              {[]func(*vsphere.VM, *Known){ago(time.Hour), func(_ *vsphere.VM, k *Known) { k.ReadySince = epoch.Add(-time.Hour) }}, never, false},
		"out of reach":              {[]func(*vsphere.VM, *Known){ago(time.Hour), func(vm *vsphere.VM, _ *Known) { vm.Connection = vsphere.Disconnected }}, never, false},
		"an older one":              {[]func(*vsphere.VM, *Known){ago(time.Hour), func(vm *vsphere.VM, k *Known) { outdated(vm); k.Revision = "1-old" }}, epoch.Add(-time.Hour), false},
		"changed since":             {[]func(*vsphere.VM, *Known){ago(time.Hour), func(_ *vsphere.VM, k *Known) { k.Revision = "1-old" }}, epoch, false},
	} {
		in := underWay(test.edits...)
		p := Compute(in)
		if s := vmStatus(t, p, 1); !s.StartTime.Equal(test.want) {
			t.Errorf("%s: startTime is %s, want %s", name, s.StartTime, test.want)
		}
		if fails := slices.Contains(p.Rollout.Failed, in.Known[1].UUID); fails != test.fails || (p.Update.Reason == v1alpha1.ReasonRolloutStopped) != test.fails {
			t.Errorf("%s: failed are %v, and it %s", name, p.Rollout.Failed, p.Update.Message)
		}
		if in.Observation.Complete = false; len(Compute(in).Rollout.Failed) > 0 {
			t.Errorf("%s: it fails on an incomplete observation", name)
		}
	}
}

// TestAnUpdateIsNotToBlameForWhatWasBefore: spec can have been reverted to the state of a VM that
// has not been ready for long.
func TestAnUpdateIsNotToBlameForWhatWasBefore(t *testing.T) {
	for name, test := range map[string]struct {
		start, begun time.Duration // ago
		says         string
		fails, waits bool
	}{
		"started after it began":                   {10 * time.Minute, 11 * time.Minute, "", true, true},
		"still started when it began":              {12 * time.Minute, 9 * time.Minute, "", false, true},
		"still started, and has had its time":      {12 * time.Minute, 10 * time.Minute, "", true, true},
		"had had its time when it began":           {30 * time.Minute, 20 * time.Minute, "", false, false},
		"said before that it failed":               {5 * time.Minute, 4 * time.Minute, "no", false, true},
		"says that it failed":                      {4 * time.Minute, 4 * time.Minute, "no", true, true},
		"a start time from a clock that ran ahead": {time.Minute, -time.Hour, "", false, true},
		"had had its time, and says that, as well": {30 * time.Minute, 20 * time.Minute, "no", false, false},
	} {
		in := underWay(func(vm *vsphere.VM, k *Known) {
			vm.GuestIP, vm.GuestInfo, vm.GuestInfoKnown, k.StartTime = "10.0.0.2", test.says, true, epoch.Add(-test.start)
		})
		in.Known, in.Observation.VMs = in.Known[1:], in.Observation.VMs[1:] // no other VM is left
		in.Spec.Readiness.GuestInfo = &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: "yes", FailedValue: "no"}
		in.Rollout.Start = epoch.Add(-test.begun)
		p := Compute(in)
		if fails := len(p.Rollout.Failed) > 0; fails != test.fails {
			t.Errorf("%s: failed are %v", name, p.Rollout.Failed)
		}
		if waits := len(p.Rollout.From) > 0; waits != test.waits {
			t.Errorf("%s: the update is %+v: %s", name, p.Rollout, p.Update.Message)
		}
		if s := vmStatus(t, p, 1); !s.StartTime.Equal(epoch.Add(-test.start)) || p.Rollout.Start.After(in.Now) {
			t.Errorf("%s: it started at %s, and the update at %s", name, s.StartTime, p.Rollout.Start)
		}
	}
}

// TestWakesWhenAVMHasHadItsTime: no other event can occur until then.
func TestWakesWhenAVMHasHadItsTime(t *testing.T) {
	p := Compute(underWay(func(_ *vsphere.VM, k *Known) { k.StartTime = epoch.Add(-time.Minute) }))
	if want := epoch.Add(9 * time.Minute); !p.WakeAt.Equal(want) {
		t.Errorf("wakes at %s, want %s", p.WakeAt, want)
	}
}

func TestGuestInfoGate(t *testing.T) {
	for value, want := range map[string]struct {
		ready, fails bool
	}{"": {}, "soon": {}, "yes": {ready: true}, "no": {fails: true}} {
		in := underWay(func(vm *vsphere.VM, _ *Known) { vm.GuestIP, vm.GuestInfo, vm.GuestInfoKnown = "10.0.0.2", value, true })
		in.Spec.Readiness.GuestInfo = &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: "yes", FailedValue: "no"}
		p := Compute(in)
		if s := vmStatus(t, p, 1); s.Available != want.ready || (len(p.Rollout.Failed) > 0) != want.fails {
			t.Errorf("%q: available is %t, failed are %v", value, s.Available, p.Rollout.Failed)
		}
	}
}

// TestAValueThatNobodyHasReadYetIsNoOther: a replica that has just taken over knows no values.
func TestAValueThatNobodyHasReadYetIsNoOther(t *testing.T) {
	for wasReady, want := range map[bool]v1alpha1.VMPhase{true: v1alpha1.VMReady, false: v1alpha1.VMStarting} {
		in := underWay(func(vm *vsphere.VM, k *Known) {
			if vm.GuestIP = "10.0.0.2"; wasReady {
				k.ReadySince, k.Phase = epoch.Add(-time.Hour), v1alpha1.VMReady
			}
		})
		in.Spec.Readiness.GuestInfo = &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: "yes"}
		if s := vmStatus(t, Compute(in), 1); s.Phase != want || s.Available != wasReady {
			t.Errorf("was ready %t: it is %s, available %t", wasReady, s.Phase, s.Available)
		}
	}
}

// TestNothingFailsByAValueThatNobodyHasReadYet: after a takeover or an outage of vCenter, a VM's
// time can end before its guest's value is read.
func TestNothingFailsByAValueThatNobodyHasReadYet(t *testing.T) {
	for name, test := range map[string]struct {
		ip, value string
		known     bool
		reason    string
		says      string
	}{
		"not read":              {"10.0.0.2", "", false, v1alpha1.ReasonRolloutProgressing, "waiting until guestinfo.ready is read"},
		"not read, and no gate": {"", "", false, v1alpha1.ReasonRolloutStopped, "web-1 (vm-101) did not become ready"},
		"nothing written":       {"10.0.0.2", "", true, v1alpha1.ReasonRolloutStopped, "web-1 (vm-101) did not become ready"},
		"written meanwhile":     {"10.0.0.2", "yes", true, v1alpha1.ReasonRolloutProgressing, "removing web-0"},
	} {
		in := underWay(func(vm *vsphere.VM, k *Known) {
			vm.GuestIP, vm.GuestInfo, vm.GuestInfoKnown, k.StartTime = test.ip, test.value, test.known, epoch.Add(-11*time.Minute)
		})
		in.Observation.VMs[0].GuestInfo, in.Observation.VMs[0].GuestInfoKnown = "yes", true
		in.Spec.Readiness.GuestInfo = &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: "yes"}
		if p := Compute(in); p.Update.Reason != test.reason || !strings.Contains(p.Update.Message, test.says) {
			t.Errorf("%s: %s: %s", name, p.Update.Reason, p.Update.Message)
		}
	}
}

// TestAVMThatWasNotReadyIsNotReadyByWhatNobodyHasRead: an unknown value leaves it unchanged.
func TestAVMThatWasNotReadyIsNotReadyByWhatNobodyHasRead(t *testing.T) {
	in := underWay(func(vm *vsphere.VM, k *Known) {
		vm.GuestIP, k.ReadySince, k.Phase = "10.0.0.2", epoch.Add(-time.Hour), v1alpha1.VMUnhealthy
	})
	in.Spec.Readiness.GuestInfo = &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: "yes"}
	if s := vmStatus(t, Compute(in), 1); s.Phase != v1alpha1.VMUnhealthy || s.Available {
		t.Errorf("it is %s, available %t", s.Phase, s.Available)
	}
}

// TestFailuresStay: a failure stays recorded, although the VM became ready or left, or another replica takes over.
func TestFailuresStay(t *testing.T) {
	in := underWay(func(vm *vsphere.VM, _ *Known) { vm.GuestIP = "10.0.0.2" })
	in.Rollout.Failed = []string{"another-vm", in.Known[1].UUID}
	if p := Compute(in); len(p.Rollout.Failed) != 2 || p.Update.Reason != v1alpha1.ReasonRolloutStopped || len(p.Actions) > 0 {
		t.Errorf("failed are %v, %s, actions %s", p.Rollout.Failed, p.Update, actionsOf(p))
	}
	in.Edited, in.Spec.Template = true, "debian-13"
	in.Revision = Revision(in.Spec)
	in.UpdateRevision = in.Revision
	if p := Compute(in); len(p.Rollout.Failed) > 0 || len(p.Rollout.From) != 2 {
		t.Errorf("the next update is %+v", p.Rollout)
	}
}
