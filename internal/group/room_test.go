package group

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// A leaving VM is one of those that the update replaces: its successor waits for its room.
func TestAnUpdateWantsNoRoomBesideWhatLeaves(t *testing.T) {
	for story, c := range map[string]struct {
		leave        int
		wants, surge int64
	}{
		"none leaves yet":   {0, 3, 4},
		"one leaves":        {1, 3, 4},
		"all of them leave": {3, 3, 4},
	} {
		s := edited()
		for i := range c.leave {
			s.Observation.VMs[i].Tombstone = true
		}
		s.See(s.Observation)
		if got, surges := s.wants(), s.surges(); got.VMs != c.wants || len(surges) != 1 || surges[0].VMs != c.surge {
			t.Errorf("%s: it wants %+v, and %+v for the update", story, got, surges)
		}
	}
}

// An update has no more VMs than quotas granted, even if they refused, or were not asked.
func TestARefusalAndNoAnswerGrantAnUpdateNothing(t *testing.T) {
	for story, change := range map[string]func(*Snapshot){
		"nothing was asked":   func(s *Snapshot) { s.Quota = nil },
		"a quota refuses":     func(s *Snapshot) { s.Quota = &QuotaAnswer{Violations: []policy.Violation{{Enforced: true}}} },
		"a quota is not read": func(s *Snapshot) { s.Quota = &QuotaAnswer{Unavailable: "why"} },
		"there is no room":    func(s *Snapshot) { s.Quota = &QuotaAnswer{Granted: true, Short: "why"} },
	} {
		s := edited()
		if change(s); s.surgeRoom().VMs != 0 {
			t.Errorf("%s: the update gets %d VMs more", story, s.surgeRoom().VMs)
		}
		if d := Decide(s); d.Plan.Creates() > 0 {
			t.Errorf("%s: %d VMs are cloned beside three", story, d.Plan.Creates())
		}
	}
	if d := Decide(edited()); d.Plan.Creates() != 1 && d.Step != MakeFolder {
		t.Errorf("with room, decided %s of %+v", d.Step, d.Plan.Actions)
	}
}

// Existing VMs do not grant an edit that makes VMs larger, even if the hub has lost its record of the group.
func TestWithoutARecordOnlyWhatExistsIsGranted(t *testing.T) {
	for story, change := range map[string]func(*Snapshot){
		"larger VMs": func(s *Snapshot) { s.Group.Spec.CPU, s.Group.Spec.Memory = 8, 16 },
		"more VMs":   func(s *Snapshot) { s.Group.Spec.Replicas = ptr.To[int32](4) },
		"as it is":   func(*Snapshot) {},
	} {
		s := edited()
		s.Admitted = nil
		change(s)
		s.See(s.Observation)
		q := s.quotaQuestion(s.wants(), true)
		if want := (policy.Usage{Groups: 1, VMs: 3, CPU: 3, Memory: 3}); q.Granted != want {
			t.Errorf("%s: %+v is granted to three VMs of one CPU", story, q.Granted)
		}
		if grows := !q.Granted.Covers(q.Wants); grows != (story != "as it is") {
			t.Errorf("%s: it claims growth %v", story, grows)
		}
		if !q.Holds.Covers(q.Granted) {
			t.Errorf("%s: it holds %+v, of which %+v was granted", story, q.Holds, q.Granted)
		}
	}
}
