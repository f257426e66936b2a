package group

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// A VM that leaves is one of those that the update takes: its successor waits for its room.
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

// An update has no VM more than quotas granted, also where they refused, or were not asked.
func TestARefusalAndNoAnswerGrantAnUpdateNothing(t *testing.T) {
	for story, change := range map[string]func(*Snapshot){
		"nothing was asked":   func(s *Snapshot) { s.Quota = nil },
		"a quota refuses":     func(s *Snapshot) { s.Quota = &QuotaAnswer{Violations: []policy.Violation{{Enforced: true}}} },
		"a quota is not read": func(s *Snapshot) { s.Quota = &QuotaAnswer{Unavailable: "why"} },
		"there is no room":    func(s *Snapshot) { s.Quota = &QuotaAnswer{Short: "why"} },
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
