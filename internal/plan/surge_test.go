package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// newSaga is a group without any observation yet, whose guests boot within one pass.
func newSaga(t fataler, vms int32) *saga {
	s := &saga{sim: newSim(t, vms)}
	for _, template := range []string{"debian-12", "debian-13", "debian-14"} {
		s.boots[template] = 1
	}
	s.spec.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat, StartupTimeoutSeconds: 60}
	s.run(settled)
	s.letter(Revision(s.spec))
	return s
}

// first holds the present VMs of a group, keyed by reference.
func (s *saga) first() map[string]string {
	vms := map[string]string{}
	for _, vm := range s.sorted() {
		vms[vm.Ref.Value] = vm.Name
	}
	return vms
}

// TestWhoMadeUpForOthersLeavesAndNobodyElse: spec asks for another size, VMs are restarted for it, and one extra VM
// compensates for them. The group is not scaled.
func TestWhoMadeUpForOthersLeavesAndNobodyElse(t *testing.T) {
	halfway := updated(2)
	lastDone := func(p Plan) bool { return p.Updated == 4 }
	for name, tell := range map[string]func(s *saga){
		"a restart is forbidden half-way": func(s *saga) {
			s.until(halfway)
			s.spec.UpdateStrategy.Resize = v1alpha1.ResizeHot
		},
		"one may be missing from half-way on": func(s *saga) {
			s.until(halfway)
			s.spec.UpdateStrategy.MaxUnavailable = number(1)
		},
		"no more may be there from half-way on": func(s *saga) {
			s.until(halfway)
			s.spec.UpdateStrategy.MaxSurge, s.spec.UpdateStrategy.MaxUnavailable = number(0), number(1)
		},
		"a guest is unhealthy when the last one is done": func(s *saga) {
			s.until(lastDone)
			s.byName("web-1").boot = 1000
			s.looks(3)
			s.byName("web-1").boot = 1
		},
		"a host is disconnected when the last one is done": func(s *saga) {
			s.until(lastDone)
			s.byName("web-1").Connection = vsphere.Disconnected
			s.looks(3)
			s.byName("web-1").Connection = vsphere.Connected
		},
		"a user stops the last one": func(s *saga) {
			s.until(updated(3))
			for _, vm := range s.sorted() {
				if vm.Stamp.Revision == s.revisions[0] {
					vm.Power = vsphere.PoweredOff
				}
			}
		},
		"one is listed for the next scale-down": func(s *saga) {
			s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{"web-0"}}
		},
		"the oldest leave first": func(s *saga) { s.spec.ScaleDown = &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest} },
		"it is paused, edited again, and resumed": func(s *saga) {
			s.until(halfway)
			s.spec.UpdateStrategy.Paused = true
			s.spec.CPU = 8
			s.looks(5)
			s.spec.UpdateStrategy.Paused = false
		},
		"it is undone": func(s *saga) {
			s.until(halfway)
			s.spec.CPU = 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, 3)
			s.strategy(nil, nil)
			before := s.first()
			s.spec.CPU = 4
			s.until(updating)
			tell(s)
			if name == "one is listed for the next scale-down" {
				s.until(settled)
			}
			for range 60 {
				s.step(nil)
				s.tick()
			}
			vms := s.first()
			if len(vms) != 3 {
				t.Errorf("%d VMs are there", len(vms))
			}
			for ref, name := range before {
				if vms[ref] == "" {
					t.Errorf("%s left: %v", name, s.trail)
				}
			}
		})
	}
}

// TestTheExtraVMLeavesOnceTheUpdateIsAsItWasMeant, even if the update does not continue automatically.
func TestTheExtraVMLeavesOnceTheUpdateIsAsItWasMeant(t *testing.T) {
	for name, rest := range map[string]func(s *saga){
		"the last guest came up too late": func(s *saga) {
			for _, k := range s.known {
				if k.Updating {
					s.vms[k.MoRef].boot = -1
				}
			}
			s.until(reason(v1alpha1.ReasonRolloutStopped))
			for _, vm := range s.sorted() {
				vm.boot = 0
			}
		},
		"people are to update it": func(s *saga) { s.spec.UpdateStrategy.Type = v1alpha1.UpdateOnDelete },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, 3)
			s.strategy(nil, nil)
			s.spec.CPU = 4
			s.until(updated(4))
			rest(s)
			s.until(func(p Plan) bool { return p.Settled && p.Existing == 3 })
		})
	}
}

// TestTheExtraVMIsKnownAsOne, regardless of its origin and record.
func TestTheExtraVMIsKnownAsOne(t *testing.T) {
	for name, begin := range map[string]func(s *saga){
		"it was to leave, and stays": func(s *saga) {
			for _, cpu := range []int32{4, 2, 4} {
				s.spec.CPU = cpu
				s.step(nil)
			}
			s.tick()
		},
		"it came beside one that was lost": func(s *saga) {
			s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{"web-0"}}
			s.replicas(2)
			s.until(settled)
			s.spec.ScaleDown = nil
			s.lose("web-2")
			s.step(nil)
			s.spec.CPU = 4
			s.step(nil)
			s.tick()
		},
		"an older version recorded nothing, and there is another edit": func(s *saga) {
			s.spec.CPU = 4
			s.until(updating)
			s.rollout.Surge, s.rollout.SurgeKnown = nil, false
			s.spec.CPU = 8
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, 3)
			s.strategy(nil, nil)
			begin(s)
			s.until(updating)
			s.spec.UpdateStrategy.Paused = true
			there := len(s.first())
			s.looks(20)
			if n := int(*s.spec.Replicas); len(s.first()) != n+1 || there != n+1 {
				t.Errorf("there are %v", s.first())
			}
		})
	}
}

// TestTheExtraVMIsKnownAsOneAfterTheGroupWasScaledUpAndBack, before anything was cloned.
func TestTheExtraVMIsKnownAsOneAfterTheGroupWasScaledUpAndBack(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(nil, nil)
	s.spec.ScaleDown = &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest}
	before := s.first()
	s.clones = 0
	s.spec.CPU = 4
	s.replicas(4)
	s.looks(1)
	s.replicas(3)
	s.looks(1)
	s.clones = 99
	s.until(settled)
	for ref, name := range before {
		if s.vms[ref] == nil {
			t.Errorf("%s left: %v", name, s.trail)
		}
	}
}

// TestTheExtraVMStaysWhereAScaleDownTakesOneThatIsAvailable: one guest is sick, and the scale-down takes an available VM that spec lists. If the extra VM left as well, too few
// VMs would be available.
func TestTheExtraVMStaysWhereAScaleDownTakesOneThatIsAvailable(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(nil, nil)
	s.template("debian-13")
	s.until(updated(1))
	s.spec.UpdateStrategy.Paused = true
	s.until(func(p Plan) bool { return p.Ready == 4 })
	s.byName("web-2").boot = 1000
	s.until(func(p Plan) bool { return p.Ready == 3 })
	s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{"web-0"}}
	s.replicas(2)
	s.looks(5)
	if s.byName("web-0") != nil || s.byName("web-1") == nil || s.byName("web-3") == nil {
		t.Errorf("there are %v", s.first())
	}
	s.spec.UpdateStrategy.Paused = false
	s.until(settled)
	if n := len(s.first()); n != 2 {
		t.Errorf("%d VMs are there in the end", n)
	}
}

// TestAScaleDownTakesNoExtraVMBesideThoseThatTheUpdateGivesUp: spec lists an extra VM that is available, and one of before whose guest is sick. If both extra VMs
// left, too few VMs would be available.
func TestAScaleDownTakesNoExtraVMBesideThoseThatTheUpdateGivesUp(t *testing.T) {
	s := newSaga(t, 4)
	s.strategy(number(2), number(0))
	s.template("debian-13")
	s.until(updated(2))
	s.spec.UpdateStrategy.Paused = true
	s.until(func(p Plan) bool { return p.Ready == 6 })
	s.byName("web-0").boot, s.byName("web-3").boot = 1000, 1000
	s.until(func(p Plan) bool { return p.Ready == 4 })
	s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{"web-3", "web-4"}}
	s.replicas(3)
	s.watch = func(_ Input, p Plan) {
		if p.Ready < 3 {
			t.Fatalf("%d VMs are available: %v", p.Ready, s.trail)
		}
	}
	s.looks(5)
	if s.byName("web-3") != nil || s.byName("web-4") != nil || len(s.first()) != 4 {
		t.Errorf("spec lists web-3 and web-4, and there are %v", s.first())
	}
}

// TestTheExtraVMIsNotKeptInTheSteadOfAnother: both were chosen to leave, and one is wanted again.
func TestTheExtraVMIsNotKeptInTheSteadOfAnother(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(nil, nil)
	s.spec.ScaleDown = &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest}
	s.spec.CPU = 4
	s.until(updated(4))
	s.others = 0
	s.replicas(2)
	for _, vm := range s.sorted() {
		vm.Power = vsphere.PoweredOn
	}
	s.looks(5)
	s.replicas(3)
	s.step(nil)
	s.others = 9
	s.until(settled)
	if s.byName("web-3") != nil || len(s.first()) != 3 {
		t.Errorf("there are %v", s.first())
	}
}

// TestNoVMOfBeforeLeavesForAnotherSize in any situation, as long as none is lost and the group is not scaled down.
func TestNoVMOfBeforeLeavesForAnotherSize(t *testing.T) {
	events := []func(t *rapid.T, s *saga, vm *simVM){
		func(t *rapid.T, s *saga, _ *simVM) { s.spec.CPU = rapid.Int32Range(1, 4).Draw(t, "cpu") * 2 },
		func(_ *rapid.T, s *saga, _ *simVM) { s.spec.UpdateStrategy.Paused = !s.spec.UpdateStrategy.Paused },
		func(_ *rapid.T, s *saga, _ *simVM) { s.crash() },
		func(t *rapid.T, s *saga, _ *simVM) { s.step(interrupted(t)); s.crash() },
		func(t *rapid.T, s *saga, _ *simVM) {
			s.room = SurgeRoom{VMs: rapid.Int32Range(0, 2).Draw(t, "room"), Blocker: Blocker{Reason: v1alpha1.ReasonWaitingForQuota}}
		},
		func(_ *rapid.T, _ *saga, vm *simVM) { toggle(vm) },
		func(_ *rapid.T, _ *saga, vm *simVM) { vm.boot = 3 },
		func(t *rapid.T, s *saga, _ *simVM) {
			surge := rapid.IntRange(0, 2).Draw(t, "surge")
			s.spec.UpdateStrategy.MaxSurge = number(surge)
			s.spec.UpdateStrategy.MaxUnavailable = number(max(rapid.IntRange(0, 1).Draw(t, "unavailable"), 1-surge))
		},
		func(_ *rapid.T, s *saga, _ *simVM) { s.replicas(min(*s.spec.Replicas+1, 6)) },
		func(t *rapid.T, s *saga, _ *simVM) {
			s.spec.UpdateStrategy.Resize = rapid.SampledFrom([]v1alpha1.ResizeMode{"", v1alpha1.ResizeHot}).Draw(t, "resize")
			s.spec.UpdateStrategy.Type = rapid.SampledFrom([]v1alpha1.UpdateStrategyType{"", v1alpha1.UpdateOnDelete}).Draw(t, "type")
			s.spec.UpdateStrategy.MaxFailures = rapid.Int32Range(1, 3).Draw(t, "failures")
			s.spec.DeletionPolicy = rapid.SampledFrom([]v1alpha1.DeletionPolicy{"", v1alpha1.DeletionRetain}).Draw(t, "policy")
		},
		func(t *rapid.T, s *saga, _ *simVM) {
			s.absent["debian-12"], s.forbidden["debian-12"] = rapid.Bool().Draw(t, "absent"), rapid.Bool().Draw(t, "forbidden")
			s.boots["debian-12"] = rapid.IntRange(-1, 2).Draw(t, "boots")
		},
		func(t *rapid.T, s *saga, _ *simVM) {
			s.clones, s.others = rapid.IntRange(0, 2).Draw(t, "clones"), rapid.IntRange(0, 2).Draw(t, "others")
		},
		func(t *rapid.T, s *saga, _ *simVM) {
			s.unfit, s.denies = rapid.Bool().Draw(t, "unfit"), rapid.Bool().Draw(t, "denies")
			s.blind, s.paused = rapid.Bool().Draw(t, "blind"), rapid.Bool().Draw(t, "paused")
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newSaga(t, rapid.Int32Range(1, 4).Draw(t, "replicas"))
		s.strategy(number(rapid.IntRange(1, 2).Draw(t, "surge")), number(rapid.IntRange(0, 1).Draw(t, "unavailable")))
		if rapid.Bool().Draw(t, "oldest first") {
			s.spec.ScaleDown = &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest}
		}
		before := s.first()
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			vm := rapid.SampledFrom(s.sorted()).Draw(t, "vm")
			switch at := rapid.IntRange(0, 2*len(events)).Draw(t, "event"); {
			case at < len(events):
				events[at](t, s, vm)
			case at == len(events) && before[vm.Ref.Value] == "":
				delete(s.vms, vm.Ref.Value) // an earlier one is lost
			default:
				s.step(nil)
				s.tick()
			}
			there := s.first()
			for ref, name := range before {
				if there[ref] == "" || s.vms[ref].Tombstone || s.vms[ref].Stamp == nil {
					t.Fatalf("%s left: %v", name, s.trail)
				}
			}
		}
	})
}

// TestAScaleDownThatNobodyCouldDoYetIsNotTakenForTheUpdates: status has recorded the smaller number already.
func TestAScaleDownThatNobodyCouldDoYetIsNotTakenForTheUpdates(t *testing.T) {
	for name, hide := range map[string]func(s *saga, hidden bool){
		"vCenter is out of sight": func(s *saga, hidden bool) { s.blind = hidden },
		"the group is paused":     func(s *saga, hidden bool) { s.paused = hidden },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, 4)
			s.strategy(nil, nil).Type = v1alpha1.UpdateOnDelete
			s.template("debian-13")
			s.looks(2)
			s.lose("web-0")
			s.until(settled)
			hide(s, true)
			s.replicas(3)
			s.looks(1)
			hide(s, false)
			s.until(settled)
			if n := len(s.first()); n != 3 {
				t.Errorf("%d VMs are there", n)
			}
		})
	}
}

// TestAnUpdateOfAnOlderVersionKeepsItsSurge: it did not record its extra VMs.
func TestAnUpdateOfAnOlderVersionKeepsItsSurge(t *testing.T) {
	s := newSaga(t, 3)
	s.broken("debian-13")
	s.until(reason(v1alpha1.ReasonRolloutStopped))
	there := s.first()
	s.rollout.Surge, s.rollout.SurgeKnown = nil, false
	s.looks(5)
	if after := s.first(); len(there) != 4 || len(after) != 4 || !s.rollout.SurgeKnown || len(s.rollout.Surge) != 1 {
		t.Errorf("there were %v and are %v; recorded is %+v", there, after, s.rollout)
	}
	s.template("debian-12")
	s.until(settled)
	if s.rollout.SurgeKnown || s.byName("web-3") != nil || slices.Contains(s.doomed, 3) {
		t.Errorf("after the undo there are %v; recorded is %+v", s.first(), s.rollout)
	}
}
