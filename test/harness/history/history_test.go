package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

// call is a call from and to a number of milliseconds; to 0 means a call in flight.
func call(boot, group string, from, to int) Call {
	c := Call{Boot: boot, Group: group, Method: "CloneVM_Task", Start: at(from), Outcome: "ok"}
	if to > 0 {
		c.End = at(to)
	}
	return c
}

const linearizing = 5 * time.Minute

// verdicts returns the number of overlaps, and whether the linearizability checker accepts the history.
func verdicts(calls ...Call) (overlaps int, linearizable bool) {
	h := History{Calls: calls}
	slices.SortStableFunc(h.Calls, func(a, b Call) int { return a.Start.Compare(b.Start) })
	ok, _ := h.Linearizable(linearizing)
	return len(h.Overlaps()), ok
}

func TestOverlapsAreFound(t *testing.T) {
	for name, story := range map[string]struct {
		calls    []Call
		overlaps int
	}{
		"nothing happened":                   {nil, 0},
		"one after the other":                {[]Call{call("a", "g", 0, 10), call("b", "g", 11, 20), call("a", "g", 21, 30)}, 0},
		"at the very moment":                 {[]Call{call("a", "g", 0, 10), call("b", "g", 10, 20)}, 0},
		"one process has many under way":     {[]Call{call("a", "g", 0, 30), call("a", "g", 5, 10), call("a", "g", 6, 40)}, 0},
		"two groups at a time":               {[]Call{call("a", "g", 0, 30), call("b", "h", 5, 10)}, 0},
		"by a millisecond":                   {[]Call{call("a", "g", 0, 10), call("b", "g", 9, 20)}, 1},
		"one within the other":               {[]Call{call("a", "g", 0, 50), call("b", "g", 9, 20)}, 1},
		"never answered":                     {[]Call{call("a", "g", 0, 0), call("b", "g", 9000, 9001)}, 1},
		"a long call behind short ones":      {[]Call{call("a", "g", 0, 100), call("a", "g", 10, 20), call("a", "g", 30, 40), call("b", "g", 50, 60)}, 1},
		"the longest is the third process's": {[]Call{call("a", "g", 0, 100), call("a", "g", 1, 2), call("b", "g", 50, 60), call("a", "g", 70, 80)}, 1},
		"the longest is the caller's own":    {[]Call{call("a", "g", 0, 100), call("b", "g", 10, 90), call("a", "g", 50, 60)}, 2},
		"three at a time":                    {[]Call{call("a", "g", 0, 100), call("b", "g", 10, 90), call("c", "g", 20, 80)}, 2},
		"in one group of two":                {[]Call{call("a", "g", 0, 10), call("b", "g", 11, 20), call("a", "h", 0, 10), call("b", "h", 5, 20)}, 1},
	} {
		overlaps, linearizable := verdicts(story.calls...)
		if overlaps != story.overlaps || linearizable != (story.overlaps == 0) {
			t.Errorf("%s: %d overlaps, want %d; linearizable: %t", name, overlaps, story.overlaps, linearizable)
		}
	}
}

func TestAnOverlapIsReportedWithBothCalls(t *testing.T) {
	h := History{Calls: []Call{call("boot-a", "the-group", 0, 10), call("boot-b", "the-group", 5, 20)}}
	report := fmt.Sprint(h.Overlaps())
	for _, mention := range []string{"the-group", "boot-a", "boot-b", "00:00:00.000 to 00:00:00.010", "00:00:00.005 to 00:00:00.020", "CloneVM_Task"} {
		if !strings.Contains(report, mention) {
			t.Errorf("the report does not mention %q: %s", mention, report)
		}
	}
}

func TestEpochsDoNotFall(t *testing.T) {
	with := func(c Call, generation, number int64) Call {
		c.Epoch = Epoch{generation, number}
		return c
	}
	for name, story := range map[string]struct {
		calls []Call
		fine  bool
	}{
		"they rise":                       {[]Call{with(call("a", "g", 0, 1), 1, 9), with(call("b", "g", 2, 3), 2, 1)}, true},
		"they stay":                       {[]Call{with(call("a", "g", 0, 1), 1, 2), with(call("a", "g", 2, 3), 1, 2)}, true},
		"the number falls":                {[]Call{with(call("a", "g", 0, 1), 1, 3), with(call("b", "g", 2, 3), 1, 2)}, false},
		"the generation falls":            {[]Call{with(call("a", "g", 0, 1), 2, 1), with(call("b", "g", 2, 3), 1, 9)}, false},
		"they fall behind an unknown one": {[]Call{with(call("a", "g", 0, 1), 1, 3), call("b", "g", 2, 3), with(call("b", "g", 4, 5), 1, 2)}, false},
		"each group has its own":          {[]Call{with(call("a", "g", 0, 1), 1, 3), with(call("b", "h", 2, 3), 1, 2)}, true},
	} {
		if overlaps, fine := verdicts(story.calls...); fine != story.fine || overlaps != 0 {
			t.Errorf("%s: accepted: %t, want %t; %d overlaps", name, fine, story.fine, overlaps)
		}
	}
}

// TestBothChecksAgreeOnRandomHistories: they share no code. A process that was frozen right before a call sends it
// when it resumes, with its old epoch.
func TestACallOfAFrozenProcessThatVCenterRefusesIsNoAct(t *testing.T) {
	late := call("a", "g", 15, 16)
	for outcome, harmless := range map[string]bool{"NotAuthenticated": true, "ok": false, "DuplicateName": false, "cut after": false} {
		late.Outcome = outcome
		if overlaps, linearizable := verdicts(call("a", "g", 0, 5), call("b", "g", 10, 20), late); linearizable != harmless || overlaps == 0 != harmless {
			t.Errorf("%s: %d overlaps; linearizable: %t", outcome, overlaps, linearizable)
		}
	}
}

func TestBothChecksAgreeOnRandomHistories(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	fine := 0
	for range 500 {
		calls := make([]Call, 0, 40)
		now := map[string]int{}
		for range cap(calls) {
			group := fmt.Sprint("g", random.IntN(3))
			from := now[group] + random.IntN(4)
			calls = append(calls, call(fmt.Sprint("b", random.IntN(3)), group, from, from+1+random.IntN(20)))
			// Mostly the next call of the group comes later, so that about half of the histories are valid.
			now[group] = from + 20
			if random.IntN(60) == 0 {
				now[group] = from
			}
		}
		overlaps, linearizable := verdicts(calls...)
		if (overlaps == 0) != linearizable {
			t.Fatalf("%d overlaps, linearizable: %t: %v", overlaps, linearizable, calls)
		}
		if linearizable {
			fine++
		}
	}
	if fine < 100 || fine > 400 {
		t.Errorf("%d of 500 histories are fine: the sample says little", fine)
	}
}
