package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A backup locks VMs for hours. A VM that was stopped for a change is started again, once, and no other VM is stopped.
func TestAVMIsStoppedOnceForAChangeThatVCenterRefusesAsBusy(t *testing.T) {
	for story, c := range map[string]struct {
		off, on  vsphere.Kind
		takeover int // passes between two takeovers, or 0
		many     int
	}{
		"MethodDisabled, TaskInProgress, FileLocked, QuestionPending": {off: vsphere.KindBusy},
		"three may be missing":                                       {off: vsphere.KindBusy, many: 3},
		"three may be missing, and nothing is understood":            {off: vsphere.KindTransient, many: 3},
		"three may be missing, and other replicas take over":         {off: vsphere.KindBusy, on: vsphere.KindOffOnly, takeover: 1, many: 3},
		"it says of a VM that runs only that it has to be off":       {off: vsphere.KindBusy, on: vsphere.KindOffOnly},
		"it forbids the change of a VM that runs":                    {off: vsphere.KindBusy, on: vsphere.KindPermission},
		"it says nothing that is understood":                         {off: vsphere.KindTransient},
		"other replicas take over":                                   {off: vsphere.KindBusy, takeover: 3},
		"other replicas take over, and a VM that runs has to be off": {off: vsphere.KindBusy, on: vsphere.KindOffOnly, takeover: 4},
		"other replicas take over with each look once it is refused": {off: vsphere.KindBusy, on: vsphere.KindOffOnly, takeover: 1},
	} {
		t.Run(story, func(t *testing.T) {
			s := newSaga(t, 5)
			s.strategy(number(0), number(max(c.many, 1)))
			s.locked, s.lockedOn = c.off, c.on
			s.spec.CPU = 4
			began, stops, most := s.now, 0, time.Duration(0)
			off, said := map[string]time.Time{}, ""
			for look := 0; s.now.Sub(began) < 10*time.Minute; look++ {
				p := s.step(nil)
				if c.takeover > 0 && look%c.takeover == 0 {
					s.failures = nil // a new process does not remember failures
				}
				s.tick()
				for _, vm := range s.sorted() {
					since, was := off[vm.Name]
					switch isOff := vm.Power == vsphere.PoweredOff; {
					case isOff && !was:
						off[vm.Name], stops = s.now, stops+1
					case !isOff && was:
						most = max(most, s.now.Sub(since))
						delete(off, vm.Name)
					}
				}
				for _, vm := range p.VMs {
					if !vm.RefusedAt.IsZero() {
						said = vm.Message + p.Update.Message
					}
				}
			}
			if stops != 1 || len(off) > 0 || most > 3*time.Minute {
				t.Errorf("VMs were stopped %d times, for %s at most, and are off still: %v", stops, most, off)
			}
			for _, want := range []string{"began to stop it at 12:", "was refused at 12:", "No VM is stopped to be changed before 12:"} {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not have %q", said, want)
				}
			}
			s.locked, s.lockedOn = "", ""
			s.until(settled)
			for _, vm := range s.sorted() {
				if vm.CPU != 4 || vm.Power != vsphere.PoweredOn {
					t.Errorf("%s has %d CPUs and is %s", vm.Name, vm.CPU, vm.Power)
				}
			}
		})
	}
}

// Its stamp got the new revision, so that it counted as updated with the old template.
func TestAVMThatWasRefusedAsBusyIsReplacedAfterAnEditOfTheTemplate(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	was := s.first()
	s.locked = vsphere.KindBusy
	s.spec.CPU = 4
	s.until(func(p Plan) bool {
		return slices.ContainsFunc(p.VMs, func(vm VMStatus) bool { return !vm.RefusedAt.IsZero() })
	})
	s.locked = ""
	s.spec.CPU, s.spec.Template = 2, "another"
	s.until(func(p Plan) bool {
		for _, vm := range p.VMs {
			if said := vm.Message + p.Update.Message; strings.Contains(said, "refused") {
				t.Errorf("it still says of %s, which is replaced: %s", vm.Name, said)
			}
		}
		return settled(p)
	})
	for ref := range s.first() {
		if _, old := was[ref]; old {
			t.Errorf("%s was not replaced: %v", ref, s.trail)
		}
	}
}

// A shutdown that vCenter rejects did not begin: the VM is not powered off at the end of its guest's time limit, and no
// other VM is stopped.
func TestAVMThatVCenterDoesNotStopIsNotPoweredOffForAChange(t *testing.T) {
	for story, takeover := range map[string]bool{"one process": false, "other replicas take over": true} {
		t.Run(story, func(t *testing.T) {
			s := newSaga(t, 3)
			s.strategy(number(0), number(2))
			s.spec.Shutdown = &v1alpha1.Shutdown{Mode: v1alpha1.ShutdownGraceful, TimeoutSeconds: 120}
			for _, vm := range s.sorted() {
				vm.ToolsRunning = true
			}
			s.until(settled)
			s.unstoppable = vsphere.KindBusy
			s.spec.CPU = 4
			asked, began, said := 0, s.now, ""
			for s.now.Sub(began) < 10*time.Minute {
				p := s.step(nil)
				if takeover {
					s.failures = slices.DeleteFunc(s.failures, func(f vsphere.Failure) bool { return f.Kind == vsphere.OpReconfigure })
				}
				for _, a := range p.Actions {
					switch a.Kind {
					case ShutdownGuest:
						asked++
					case PowerOffVM:
						t.Fatalf("%s is powered off: %s", a.Name, a.Reason)
					}
				}
				for _, vm := range p.VMs {
					if !vm.RefusedAt.IsZero() {
						said = vm.Message + p.Update.Message
					}
				}
				s.tick()
			}
			if asked != 1 {
				t.Errorf("%d guests were asked to shut down, want 1", asked)
			}
			if p := s.step(nil); p.Ready != 3 || !strings.Contains(said, "No VM is stopped to be changed before 12:") {
				t.Errorf("%d are available; it says %q", p.Ready, said)
			}
			s.unstoppable = ""
			s.until(settled)
		})
	}
}

// If vCenter reports in advance that it would reject the change, no VM is stopped for it. Others continue to be
// changed.
func TestAVMWhoseChangeIsDisabledIsNotStopped(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	s.until(settled)
	locked := s.byName("web-1")
	locked.Disabled = "ReconfigVM_Task"
	s.spec.CPU = 4
	var p Plan
	for range 40 {
		p = s.step(nil)
		s.tick()
		if locked.Power != vsphere.PoweredOn {
			t.Fatalf("%s is stopped: %v", locked.Name, p.Update)
		}
	}
	for _, said := range []string{p.Update.Message, p.VMs[1].Message} {
		if p.Updated != 2 || !strings.Contains(said, "web-1 is not stopped to be changed, since vCenter has disabled ReconfigVM_Task") {
			t.Errorf("%d are updated; it says %q", p.Updated, said)
		}
	}
	locked.Disabled = ""
	s.until(settled)
	if locked.CPU != 4 {
		t.Errorf("%s has %d CPUs", locked.Name, locked.CPU)
	}
}

// The clock of the replica that stopped a VM was fast. The rejection still counts, and the VM is started again.
func TestAVMThatWasStoppedByAClockThatRanAheadIsStartedAgain(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	s.locked = vsphere.KindBusy
	s.spec.CPU = 4
	isOff := func(vm *simVM) bool { return vm.Power == vsphere.PoweredOff }
	for range 20 {
		if s.step(nil); slices.ContainsFunc(s.sorted(), isOff) {
			break
		}
		s.tick()
	}
	for i := range s.known {
		if !s.known[i].StoppedAt.IsZero() {
			s.known[i].StoppedAt = s.now.Add(20 * time.Minute)
		}
	}
	s.failures = nil
	s.looks(12)
	if p := s.step(nil); slices.ContainsFunc(s.sorted(), isOff) || p.Ready != 3 {
		t.Errorf("%d are available after two minutes: %v", p.Ready, s.trail)
	}
}

// The VM that was stopped in vain was moved out of the root folder. Its lock can affect others, so none is stopped
// before the wait ends.
func TestNoOtherVMIsStoppedWhileTheOneThatWasRefusedIsOutOfSight(t *testing.T) {
	s := newSaga(t, 4)
	s.strategy(number(0), number(2))
	s.locked = vsphere.KindBusy
	s.spec.CPU = 4
	refused := func() *simVM {
		for _, k := range s.known {
			if !k.RefusedAt.IsZero() {
				return s.vms[k.MoRef]
			}
		}
		return nil
	}
	s.until(func(p Plan) bool { return refused() != nil && p.Ready == 4 })
	stops := countStops(s)
	refused().away = true
	for began := s.now; s.now.Sub(began) < 8*time.Minute; s.tick() {
		s.step(nil)
	}
	if *stops != 0 {
		t.Errorf("%d VMs were stopped: %v", *stops, s.trail)
	}
}

// A VM was stopped in vain, and its guest has not become ready since. It is stopped again as rarely as any other, and
// gets its change then.
func TestAVMThatIsNotReadyIsNotStoppedAgainAndAgainForAChange(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	s.locked = vsphere.KindBusy
	s.spec.CPU = 4
	s.until(func(p Plan) bool {
		for i, vm := range p.VMs {
			if !vm.RefusedAt.IsZero() {
				s.byName(p.VMs[i].Name).boot = -1
				return true
			}
		}
		return false
	})
	stops := countStops(s)
	for began := s.now; s.now.Sub(began) < 44*time.Minute; s.tick() {
		s.step(nil)
	}
	if *stops > 3 {
		t.Errorf("VMs were stopped %d times in 44 minutes: %v", *stops, s.trail)
	}
	s.locked = ""
	for began := s.now; s.now.Sub(began) < 16*time.Minute; s.tick() {
		s.step(nil)
	}
	if !slices.ContainsFunc(s.sorted(), func(vm *simVM) bool { return vm.boot < 0 && vm.CPU == 4 }) {
		t.Errorf("the VM did not get its change: %v", s.trail)
	}
}

// The VM that was stopped in vain leaves the group before its 15 minutes end. Its lock can affect others, so none is
// stopped before that, even by a replica that takes over and knows only status.
func TestNoOtherVMIsStoppedBecauseTheOneThatWasRefusedHasLeft(t *testing.T) {
	for story, leave := range map[string]func(s *saga, name string){
		"scaled away": func(s *saga, name string) {
			s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{name}}
			s.replicas(3)
		},
		"destroyed by a person, and replaced": (*saga).lose,
		"scaled away, and another size follows": func(s *saga, name string) {
			s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{name}}
			s.replicas(3)
			s.looks(3)
			s.spec.CPU = 8
		},
	} {
		t.Run(story, func(t *testing.T) {
			s := newSaga(t, 4)
			s.strategy(number(0), number(2))
			s.locked = vsphere.KindBusy
			s.spec.CPU = 4
			refused := func() (name string, at time.Time) {
				for _, k := range s.known {
					if !k.RefusedAt.IsZero() {
						return VMName(groupName, k.Ordinal), k.RefusedAt
					}
				}
				return "", time.Time{}
			}
			s.until(func(p Plan) bool { name, _ := refused(); return name != "" && p.Ready == 4 })
			name, at := refused()
			was, said := s.byName(name).Ref.Value, ""
			leave(s, name)
			for s.now.Before(at.Add(busyPause)) {
				s.failures = nil // another replica takes over
				p := s.step(nil)
				for _, vm := range p.VMs {
					if vm.StoppedAt.After(at) {
						t.Fatalf("%s is stopped %s after the refusal: %v", vm.Name, s.now.Sub(at), s.trail)
					}
				}
				if strings.Contains(p.Update.Message, "a VM that was removed since") {
					if said = p.Update.Message; p.WakeAt.IsZero() || p.WakeAt.After(at.Add(busyPause)) {
						t.Fatalf("at %s, the wake-up of the group is %s", s.now, p.WakeAt)
					}
				}
				s.tick()
			}
			if _, left := s.vms[was]; left {
				t.Fatalf("%s did not leave: %v", name, s.trail)
			}
			if want := "no VM is stopped to be changed before " + clock(at.Add(busyPause)); !strings.Contains(said, want) {
				t.Errorf("%q does not have %q", said, want)
			}
			s.locked = ""
			s.until(settled)
		})
	}
}
