package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestAnEditGoesOnAlthoughNothingOfTheOlderRevisionCanBeCloned: its template was deleted, or denied. VMs of the new
// revision are tried, because none of the older one can prove it.
func TestAnEditGoesOnAlthoughNothingOfTheOlderRevisionCanBeCloned(t *testing.T) {
	for name, c := range map[string]struct {
		vms  int32
		tell func(s *saga)
	}{
		"scaled up in the same edit": {2, func(s *saga) { s.template("debian-13"); s.replicas(3) }},
		"scaled up before": {2, func(s *saga) {
			s.replicas(3)
			s.until(blocked(v1alpha1.ReasonTemplateNotFound))
			s.template("debian-13")
		}},
		"scaled up by far":           {2, func(s *saga) { s.template("debian-13"); s.replicas(6) }},
		"the only VM was lost":       {1, func(s *saga) { s.gone("web-0"); s.template("debian-13") }},
		"all VMs were lost":          {2, func(s *saga) { s.gone("web-0", "web-1"); s.template("debian-13") }},
		"all are lost after an edit": {2, func(s *saga) { s.template("debian-13"); s.looks(1); s.lose("web-0"); s.lose("web-1") }},
		"one was lost, and none may be added": {3, func(s *saga) {
			s.gone("web-1")
			s.strategy(number(0), number(1))
			s.template("debian-13")
		}},
		"one was lost, and the quota is full": {3, func(s *saga) {
			s.gone("web-1")
			s.room = SurgeRoom{}
			s.strategy(number(1), number(1))
			s.template("debian-13")
		}},
		"it is forbidden, too": {2, func(s *saga) { s.forbidden["debian-12"] = true; s.gone("web-0", "web-1"); s.template("debian-13") }},
		"a third revision follows": {2, func(s *saga) {
			s.gone("web-0", "web-1")
			s.absent["debian-13"] = true
			s.template("debian-13")
			s.looks(5)
			s.template("debian-14")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, c.vms)
			s.strategy(nil, nil)
			s.absent["debian-12"] = true
			c.tell(s)
			s.watch = func(in Input, p Plan) {
				u := strategyOf(in.Spec.UpdateStrategy, p.Desired)
				if n := untried(p); n > max(u.surge+u.unavailable, 1) {
					t.Fatalf("%d VMs of a revision that was never seen working: %s", n, strings.Join(s.trail, "\n"))
				}
			}
			p := s.run(settled)
			if n := int(*s.spec.Replicas); len(s.first()) != n || len(p.Outdated) > 0 {
				t.Errorf("in the end there are %v, outdated are %v", s.first(), p.Outdated)
			}
		})
	}
}

// gone loses VMs and waits until vCenter has confirmed their deletion.
func (s *saga) gone(names ...string) {
	for _, name := range names {
		s.lose(name)
	}
	s.looks(3)
}

// untried is the number of VMs of the target, existing or in flight, while none of them has been ready.
func untried(p Plan) (n int32) {
	for _, v := range p.VMs {
		if v.Revision != p.Rollout.Revision || len(p.Rollout.From) == 0 || slices.Contains(p.Doomed, v.Ordinal) {
			continue
		}
		if !v.ReadySince.IsZero() {
			return 0
		}
		if v.MoRef != "" || v.Phase == v1alpha1.VMCloning {
			n++
		}
	}
	return n
}

// TestATrialThatFailsStopsTheUpdate: at most one VM is tried at a time, and the group's message names the remedy.
func TestATrialThatFailsStopsTheUpdate(t *testing.T) {
	s := newSaga(t, 2)
	s.strategy(nil, nil)
	s.absent["debian-12"] = true
	s.gone("web-0", "web-1")
	s.broken("debian-13")
	s.until(reason(v1alpha1.ReasonRolloutStopped))
	s.looks(5)
	if n := len(s.first()); n != 1 {
		t.Errorf("%d VMs were tried", n)
	}
	s.template("debian-14")
	s.until(settled)
}

// TestAVMThatHadItsTimeBeforeTheUpdateIsNoTrialOfIt: spec is reverted to the state of that VM. It can neither fail this
// update nor prove it, so another VM is tried.
func TestAVMThatHadItsTimeBeforeTheUpdateIsNoTrialOfIt(t *testing.T) {
	s := newSaga(t, 2)
	s.strategy(number(0), number(1))
	s.broken("debian-13")
	s.until(reason(v1alpha1.ReasonRolloutStopped))
	s.forbidden["debian-12"] = true
	s.template("debian-12")
	s.looks(2)
	s.template("debian-13")
	s.replicas(3)
	s.until(reason(v1alpha1.ReasonRolloutStopped))
	if tried := s.byName("web-2"); tried == nil || tried.template != "debian-13" || len(s.first()) != 3 {
		t.Errorf("web-2 was not tried: %v", s.first())
	}
	if !strings.Contains(s.update, "web-2") {
		t.Errorf("nothing names the VM that failed: %s", s.update)
	}
}

// TestWhatIsOnlyUnreadIsWaitedFor: the older shape can be cloned again once its references have been looked up.
func TestWhatIsOnlyUnreadIsWaitedFor(t *testing.T) {
	s := newSaga(t, 2)
	s.strategy(nil, nil)
	s.unread["debian-12"] = true
	s.lose("web-0")
	s.template("debian-13")
	s.boots["debian-13"] = 100
	s.until(updated(1)) // the VM that the update adds
	s.looks(5)
	if vm := s.byName("web-0"); vm != nil || len(s.first()) != 2 {
		t.Errorf("there are %v", s.first())
	}
	if !strings.Contains(s.text.String(), "debian-12 has not been looked up") {
		t.Errorf("no message names the missing template:\n%s", s.text.String())
	}
	s.unread["debian-12"] = false
	s.looks(2)
	if vm := s.byName("web-0"); vm == nil || vm.template != "debian-12" {
		t.Errorf("the lost VM came back as %+v", vm)
	}
}
