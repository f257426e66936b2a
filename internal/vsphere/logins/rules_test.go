package logins

import (
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

// at is a moment of a test.
func at(minutes float64) time.Time { return start.Add(time.Duration(minutes * float64(time.Minute))) }

// reject and accept are vCenter's responses to a pair.
func (a Account) reject(pair string, now time.Time) Account {
	return a.settled(now, false).ended(Claim{Pair: pair, At: now}, Rejected, now)
}

func (a Account) accept(pair string, now time.Time) Account {
	return a.settled(now, false).ended(Claim{Pair: pair, At: now}, Accepted, now)
}

// tried checks a replica's decision about a pair at a moment.
func (a Account) tried(t *testing.T, pair string, now time.Time, want step, next time.Time) {
	t.Helper()
	do, when := decide(a.settled(now, false), pair, now, most)
	if do != want || !when.Equal(next) {
		t.Errorf("%s at %s: step %d, next %s; want step %d, next %s", pair, now.Sub(start), do, when, want, next)
	}
}

func TestAPairIsTriedThreeTimesAndNeverAgain(t *testing.T) {
	a := Account{}.reject("a", at(0))
	a.tried(t, "a", at(1.9), hold, at(2))
	a.tried(t, "a", at(2), claim, time.Time{})
	a = a.reject("a", at(2))
	a.tried(t, "a", at(16.9), hold, at(17))
	a.tried(t, "a", at(17), claim, time.Time{})
	a = a.reject("a", at(17))
	a.tried(t, "a", at(100_000), hold, time.Time{})
	a.tried(t, "b", at(17), claim, time.Time{})
	a = a.accept("a", at(100_000)) // a user unlocked the account, and another process noticed
	a.tried(t, "a", at(100_001), claim, time.Time{})
}

// TestLoginsThatWereUnderWayTogetherAreOneTryOfTheirPair: a vCenter that restarts right after a login rejects all
// sessions at once, and the pair was never tried again.
func TestLoginsThatWereUnderWayTogetherAreOneTryOfTheirPair(t *testing.T) {
	a := Account{}.accept("a", at(0))
	for i := range 9 {
		a = a.ended(Claim{Pair: "a", By: "session", At: at(0.1)}, Rejected, at(0.1+float64(i)/1000))
	}
	if p := a.pair("a"); p.Rejections != 1 || len(a.Rejected) != 9 {
		t.Errorf("%d tries of the pair, and %d rejections of the account", p.Rejections, len(a.Rejected))
	}
	a.tried(t, "a", at(15), hold, at(0.1+5.0/1000).Add(window))
	a.tried(t, "a", at(16), claim, time.Time{})
	a = a.reject("a", at(16)).reject("a", at(31))
	a.tried(t, "a", at(100_000), hold, time.Time{})
}

func TestAnAccountHasFourRejectionsInAQuarterOfAnHour(t *testing.T) {
	a := Account{}.reject("a", at(0)).reject("b", at(1)).reject("c", at(2))
	a.tried(t, "d", at(3), claim, time.Time{})
	a = a.reject("d", at(3))
	a.tried(t, "e", at(4), hold, at(15))
	a.tried(t, "e", at(15), claim, time.Time{})
	a = a.reject("e", at(15))
	a.tried(t, "f", at(15), hold, at(16))
}

func TestTheLastRejectionIsKeptForAPairThatWorks(t *testing.T) {
	a := Account{}.accept("works", at(0)).reject("a", at(1)).reject("b", at(2)).reject("c", at(3))
	a.tried(t, "d", at(4), hold, at(16))
	a.tried(t, "works", at(4), claim, time.Time{})
	a = a.reject("works", at(4))
	a.tried(t, "d", at(5), hold, at(16))
	a.tried(t, "works", at(6), hold, at(16))
}

func TestOnlyAFreshAcceptanceLetsOthersFollow(t *testing.T) {
	a := Account{}.accept("a", at(0))
	a.tried(t, "a", at(0.1), follow, time.Time{})
	a.tried(t, "a", at(0.2), claim, time.Time{})
	a.tried(t, "b", at(0.1), claim, time.Time{})
	a.Claim = &Claim{Pair: "b", By: "other", At: at(0.1)}
	a.tried(t, "a", at(0.1), follow, time.Time{})
	a.tried(t, "a", at(0.2), wait, time.Time{})
}

func TestALoginThatNobodyEndedCountsUnlessItsPasswordWorkedBefore(t *testing.T) {
	for pair, want := range map[string]int{"works": 0, "new": 1} {
		a := Account{}.accept("works", at(0))
		a.Claim = &Claim{Pair: pair, By: "other", At: at(1)}
		if after := a.settled(at(1.4), false); after.Claim == nil {
			t.Error("the claim of a process that may live has ended too early")
		}
		for _, after := range []Account{a.settled(at(1.5), false), a.settled(at(1.1), true)} {
			if after.Claim != nil || len(after.Rejected) != want || after.pair("new").Rejections != 0 {
				t.Errorf("%s: %+v", pair, after)
			}
		}
	}
}

func TestMomentsAheadOfTheClockHoldNobodyForLong(t *testing.T) {
	forged := Account{
		Pairs:    []Pair{{ID: "a", Rejections: 1, First: at(0), Last: at(1e6)}, {ID: "b", Accepted: at(1e6)}},
		Rejected: []time.Time{at(1e6), at(1e6), at(1e6), at(1e6)}, Claim: &Claim{Pair: "c", By: "other", At: at(1e6)},
	}
	forged.tried(t, "a", at(0), hold, at(2))
	forged.tried(t, "b", at(0), claim, time.Time{})
	forged.tried(t, "c", at(0), claim, time.Time{})
}

func TestWhatAProcessKnowsOutlivesAStoreThatIsWipedOrRestored(t *testing.T) {
	old := Account{}.reject("a", at(0))
	known := old.reject("a", at(2)).reject("b", at(3))
	for name, stored := range map[string]Account{"wiped": {}, "restored": old} {
		a := stored.merge(known).settled(at(4), false)
		if a.pair("a").Rejections != 2 || a.pair("b").Rejections != 1 || len(a.Rejected) != 3 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := known.accept("a", at(5)).merge(known); a.pair("a").Rejections != 0 {
		t.Errorf("what another process found out is not believed: %+v", a)
	}
}
