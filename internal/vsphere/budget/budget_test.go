package budget

import (
	"testing"
	"time"
)

func TestReservedAndRunningCount(t *testing.T) {
	r := newRig(t, Limits{Tasks: 4})
	grant := r.Acquire("a", "", 3)
	done := r.Start("a", "")
	if grant.Granted() != 3 || r.Running() != 1 || r.Reserved("a", "") != 2 {
		t.Fatalf("granted %d, running %d, reserved %d", grant.Granted(), r.Running(), r.Reserved("a", ""))
	}
	r.asks("b", "", 4, 1)
	grant.Release()
	grant.Release()
	r.asks("b", "", 4, 3)
	done(true)
	done(true)
	if r.Running() != 0 {
		t.Errorf("running %d, want 0", r.Running())
	}
	r.asks("b", "", 4, 4)
}

func TestHostLimitIsForItsClonesOnly(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8, TasksPerHost: 2})
	r.start("a", "h", 2)
	r.asks("b", "h", 1, 0)
	r.asks("b", "i", 4, 2)
	r.asks("b", "i", 0, 0)
	r.asks("b", "", 6, 6)
}

func TestStartWithoutReservationIsCounted(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	first, second := r.Start("a", ""), r.Start("a", "")
	if r.Running() != 2 {
		t.Fatalf("running %d, want 2", r.Running())
	}
	first(true)
	r.asks("b", "", 1, 0)
	second(true)
	r.asks("b", "", 1, 1)
}

func TestStartUsesTheOldestGrant(t *testing.T) {
	r := newRig(t, Limits{Tasks: 4})
	first, second := r.Acquire("a", "", 2), r.Acquire("a", "", 2)
	r.Start("a", "")
	r.Start("a", "")
	first.Release() // holds nothing more
	if got := r.Reserved("a", ""); got != 2 {
		t.Errorf("reserved %d, want the 2 of the second grant", got)
	}
	second.Release()
	if got := r.Reserved("a", ""); got != 0 {
		t.Errorf("reserved %d, want 0", got)
	}
}

func TestFreedSlotIsKeptForTheNeediest(t *testing.T) {
	r := newRig(t, Limits{Tasks: 3})
	ends := r.start("giant", "h", 3)
	r.asks("giant", "h", 45, 0)
	r.asks("dwarf", "h", 1, 0)
	r.told()
	ends[0](true)
	r.told("dwarf")
	r.asks("giant", "h", 45, 0) // richer: gets nothing
	ends[1](true)
	r.told("giant")
	r.asks("giant", "h", 45, 1)
	r.start("dwarf", "h", 1)
}

func TestEqualsTakeTurns(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("a", "", 1)[0]
	r.asks("a", "", 9, 0)
	r.asks("b", "", 9, 0)
	r.asks("c", "", 9, 0)
	// a waits longest: it asked before the others. Then they take turns.
	for _, next := range []string{"a", "b", "c", "a", "b", "c"} {
		end(true)
		r.told(next)
		grant := r.Acquire(next, "", 9)
		if grant.Granted() != 1 {
			t.Fatalf("%s got %d", next, grant.Granted())
		}
		end = r.Start(next, "")
	}
}

func TestSilentGroupLosesItsTurnByTimer(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x", "", 1)[0]
	r.asks("gone", "", 1, 0)
	r.asks("next", "", 1, 0)
	end(true)
	r.told("gone")
	r.clock.advance(999 * time.Millisecond)
	r.told()
	r.asks("passer-by", "", 1, 0)
	r.clock.advance(time.Millisecond) // no call: only the timer
	r.told("next")
	r.start("next", "", 1)
}

func TestLateGroupKeepsItsPlace(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x", "", 1)[0]
	r.asks("late", "", 1, 0)
	r.asks("next", "", 1, 0)
	end(true)
	r.clock.advance(time.Second)
	r.told("late", "next")
	grant := r.Acquire("late", "", 1)
	if grant.Granted() != 1 {
		t.Error("a group that is slower than the claim window would never be served")
	}
	r.asks("next", "", 1, 0)
	grant.Release()
	r.told("next") // notified again, because the slot was withdrawn in between
	r.asks("next", "", 1, 1)
}

func TestClaimCountsBeforeTheTimerFires(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x", "", 1)[0]
	r.asks("a", "", 1, 0)
	end(true)
	r.clock.now = r.clock.now.Add(time.Hour) // as with late timers
	r.asks("a", "", 1, 1)
}

func TestGroupWithTwoDemands(t *testing.T) {
	r := newRig(t, Limits{Tasks: 4})
	ends := r.start("x", "h", 4)
	r.asks("a", "h", 1, 0)
	r.asks("a", "", 2, 0)
	for _, end := range ends {
		end(true)
	}
	r.told("a", "a") // for the older demand, then for the other one
	r.start("a", "", 2)
	if r.Demand() != 3 {
		t.Errorf("demand %d, want 2 running and 1 clone", r.Demand())
	}
	r.start("a", "h", 1)
	if err := r.check(); err != nil {
		t.Error(err)
	}
}

func TestAllSilentLeavesTheSlotToAnybody(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x", "", 1)[0]
	r.asks("a", "", 1, 0)
	end(true)
	r.clock.advance(time.Minute)
	r.told("a") // once, not forever
	if r.clock.armed() != 0 {
		t.Error("a timer runs although nothing is kept for anybody")
	}
	if r.Demand() != 0 {
		t.Errorf("demand %d of a group that did not come back", r.Demand())
	}
	r.asks("b", "", 1, 1)
}

func TestSmallerWantReplacesTheOld(t *testing.T) {
	r := newRig(t, Limits{Tasks: 2})
	ends := r.start("x", "", 2)
	r.asks("a", "", 2, 0)
	r.asks("b", "", 2, 0)
	r.asks("a", "", 0, 0)
	if r.Demand() != 4 {
		t.Errorf("demand %d, want 2 running and 2 wanted", r.Demand())
	}
	ends[0](true)
	ends[1](true)
	r.told("b")
	r.asks("b", "", 2, 2)
}

func TestForget(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("a", "", 1)[0]
	r.asks("a", "", 5, 0)
	r.asks("b", "", 1, 0)
	r.Forget("a")
	r.Forget("never seen")
	if r.Running() != 1 || r.Demand() != 2 {
		t.Errorf("running %d, demand %d; want 1, 2", r.Running(), r.Demand())
	}
	end(false) // does not leave a slow start
	r.told("b")
	r.asks("b", "", 1, 1)
	if len(r.groups) != 0 {
		t.Errorf("%d groups are remembered, want none", len(r.groups))
	}
}

func TestForgetGivesTheOfferToTheNext(t *testing.T) {
	r := newRig(t, Limits{Tasks: 1})
	end := r.start("x", "", 1)[0]
	r.asks("a", "", 1, 0)
	r.asks("b", "", 1, 0)
	end(true)
	r.Forget("a")
	r.told("a", "b")
}

func TestLimitsAtRuntime(t *testing.T) {
	r := newRig(t, Limits{Tasks: 0})
	r.asks("a", "", 3, 0)
	r.SetLimits(Limits{Tasks: 4})
	r.told("a")
	ends := r.start("a", "", 3)
	r.SetLimits(Limits{Tasks: 2})
	r.asks("b", "", 1, 0)
	ends[0](true)
	r.told() // still at the limit
	ends[1](true)
	r.told("b")
	r.asks("b", "", 1, 1)
	if r.Running() != 1 || r.Demand() != 1 {
		t.Errorf("running %d, demand %d; want 1, 1", r.Running(), r.Demand())
	}
}

func TestSlowStart(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8})
	ends := r.start("a", "h", 8)
	ends[0](false)
	r.asks("a", "h", 8, 0)
	r.asks("b", "h", 1, 1) // other groups do not start slowly
	r.Forget("b")
	for _, end := range ends[1:] {
		end(true) // started before the failure: proves nothing
	}
	for _, window := range []int{1, 2, 4} {
		r.asks("a", "h", 8, window)
		r.start("a", "h", 1)[0](true)
	}
	r.asks("a", "h", 8, 8)
	r.start("a", "h", 1)[0](false)
	r.asks("a", "h", 8, 1)
}

func TestNotifyMayCallTheBudget(t *testing.T) {
	var b *Budget
	var got int
	m := &manual{}
	b = NewWithClock(Limits{Tasks: 1}, notify(func(group string) { got = b.Acquire(group, "", 1).Granted() }), m.clock(), time.Second)
	done := b.Start("x", "")
	b.Acquire("a", "", 1)
	done(true)
	if got != 1 {
		t.Errorf("granted %d from within notify, want 1", got)
	}
}

// The order in which two goroutines call notify is undefined: a window of a millisecond can end before the first call.
func TestTheRealTimerTellsTheNextGroupWhenTheFirstIsSilent(t *testing.T) {
	told := make(chan string, 2)
	b := NewWithClock(Limits{Tasks: 1}, notify(func(g string) { told <- g }), systemClock(), time.Millisecond)
	done := b.Start("x", "")
	b.Acquire("a", "", 1)
	b.Acquire("b", "", 1)
	done(true)
	heard := map[string]bool{}
	for range 2 {
		select {
		case group := <-told:
			heard[group] = true
		case <-time.After(time.Minute):
			t.Fatalf("only %v were notified", heard)
		}
	}
	if !heard["a"] || !heard["b"] {
		t.Errorf("notified %v, want a and b", heard)
	}
}
