package plan

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// wakes runs the group only when a task ended or the planner requested another pass, until it
// requests none. It returns the last plan.
func (s *saga) wakes(most int) (p Plan) {
	s.t.Helper()
	for range most {
		p = s.step(nil)
		switch {
		case len(s.tasks) > 0:
			s.tick()
		case p.WakeAt.IsZero():
			return p
		default:
			s.now = p.WakeAt
		}
	}
	s.t.Fatalf("it is run again for ever: %s", strings.Join(s.trail, "\n"))
	return p
}

// TestWhatAnEditAddedLeavesAfterAnUndo even without another event for the group.
func TestWhatAnEditAddedLeavesAfterAnUndo(t *testing.T) {
	s := newSaga(t, 2)
	s.strategy(nil, nil)
	s.broken("debian-13")
	s.until(updated(1))
	s.byName("web-1").sick = s.now.Add(24 * time.Hour)
	s.tick()
	s.template("debian-12")
	if s.wakes(50); s.byName("web-2") != nil {
		t.Errorf("what the edit added is there still: %v\n%s", s.first(), strings.Join(s.trail, "\n"))
	}
}

// TestAMessageLosesItsTimeWhenThatIsOver, even while the host of the VM is unreachable.
func TestAMessageLosesItsTimeWhenThatIsOver(t *testing.T) {
	s := newSaga(t, 1)
	s.strategy(number(0), number(1))
	s.byName("web-0").ToolsRunning, s.byName("web-0").slow = true, -1
	s.spec.CPU = 4
	s.until(updating)
	s.looks(1)
	s.byName("web-0").Connection = vsphere.Disconnected
	s.tasks = nil
	if p := s.wakes(20); strings.Contains(p.Update.Message, "and has until") {
		t.Errorf("at %s it says %s", s.now.Format(time.TimeOnly), p.Update.Message)
	}
}

// TestTheTimeOfAGuestIsNotKeptInStatus while the group is paused.
func TestTheTimeOfAGuestIsNotKeptInStatus(t *testing.T) {
	s := newSaga(t, 1)
	s.byName("web-0").ToolsRunning, s.byName("web-0").slow = true, -1
	s.replicas(0)
	s.looks(2)
	s.paused = true
	s.tasks = nil
	p := s.wakes(20)
	if v := vmStatus(t, p, 0); !v.ShutdownTime.IsZero() {
		t.Errorf("at %s its guest is waited for since %s", s.now.Format(time.TimeOnly), v.ShutdownTime.Format(time.TimeOnly))
	}
}

// TestAnUpdateThatIsHeldEndsItsSentences.
func TestAnUpdateThatIsHeldEndsItsSentences(t *testing.T) {
	s := newSaga(t, 2)
	s.strategy(nil, nil)
	s.template("debian-13")
	s.until(updated(1))
	in := s.input()
	in.UpdateBlocked = &Blocker{Reason: v1alpha1.ReasonNotGranted, Message: "template b does not exist"}
	if p := Compute(in); !strings.Contains(p.Update.Message, "does not exist. Until then") {
		t.Errorf("it says %s", p.Update.Message)
	}
}

// TestALostVMThatIsNotNeededIsNotMissed: its template was deleted. With the VM that a resize added,
// the group has the wanted number.
func TestALostVMThatIsNotNeededIsNotMissed(t *testing.T) {
	s := newSaga(t, 2)
	s.strategy(nil, nil)
	s.spec.CPU = 4
	s.until(updated(2))
	s.absent["debian-12"] = true
	for _, vm := range s.sorted() {
		if vm.Stamp.Revision == s.revisions[0] {
			delete(s.vms, vm.Ref.Value)
		}
	}
	s.looks(5) // until vCenter has confirmed its deletion
	if p := s.wakes(50); len(p.Blockers) > 0 || p.Existing != 2 || p.Ready != 2 {
		t.Errorf("%d VMs, %d ready, and %v\n%s", p.Existing, p.Ready, p.Blockers, strings.Join(s.trail, "\n"))
	}
}

// TestAGuestThatShutsDownIsNoNewsInEachLook: its readiness stays until it is off.
func TestAGuestThatShutsDownIsNoNewsInEachLook(t *testing.T) {
	s := newSaga(t, 1)
	s.strategy(number(0), number(1))
	s.byName("web-0").ToolsRunning, s.byName("web-0").slow = true, -1
	s.spec.CPU = 4
	s.until(updating)
	first := s.step(nil).VMs[0]
	for range 20 {
		s.now = s.now.Add(time.Second)
		if now := s.step(nil).VMs[0]; !reflect.DeepEqual(now, first) {
			t.Fatalf("at %s it is recorded as %+v, and before as %+v", s.now.Format(time.TimeOnly), now, first)
		}
	}
}

// TestWhateverBecomesDueWakesItsGroup: at rest and without events, a plan stays the same until the
// time of its requested pass.
func TestWhateverBecomesDueWakesItsGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, p, rests := atRest(anyInput(t))
		if !rests {
			return
		}
		later := in
		later.Now = in.Now.Add(time.Duration(rapid.IntRange(1, 36*3600).Draw(t, "seconds")) * time.Second)
		if !p.WakeAt.IsZero() && !later.Now.Before(p.WakeAt) {
			later.Now = p.WakeAt.Add(-time.Nanosecond)
		}
		if next := Compute(later); due(next) != due(p) {
			t.Fatalf("at %s, with a wake-up at %s, it is\n%s\nand before that it was\n%s", later.Now, p.WakeAt, due(next), due(p))
		}
	})
}

// atRest records plans until the next one is the same, if none of them takes an action.
func atRest(in Input) (Input, Plan, bool) {
	in.Observation.InFlight = nil
	last := ""
	for range 4 {
		p := Compute(in)
		if len(p.Actions) > 0 || !in.Observation.Complete {
			return in, p, false
		}
		if due(p) == last {
			return in, p, true
		}
		last = due(p)
		in.Known, in.Doomed, in.Listed, in.Gate, in.Rollout, in.Edited, in.Desired = persist(p), p.Doomed, p.Listed, p.Gate, &p.Rollout, false, p.Desired
	}
	return in, Plan{}, false
}

// due is the actions and messages of a plan.
func due(p Plan) string {
	return fmt.Sprintf("%s | %v | %s | %s | %v | %s", actionsOf(p), p.Doomed, vmsOf(p), p.Update, p.Blockers, times(p))
}

func times(p Plan) string {
	var b strings.Builder
	for _, v := range p.VMs {
		fmt.Fprintf(&b, "%d since %s, start %s, asked %s: %s; ", v.Ordinal, v.ReadySince, v.StartTime, v.ShutdownTime, v.Message)
	}
	return b.String()
}
