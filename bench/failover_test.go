//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/test/failover"
)

func at(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }

func TestCallsInFlightAndAborted(t *testing.T) {
	calls := []failover.Call{
		{Group: "over", Start: at(0), End: at(5), Outcome: "ok"},
		{Group: "under-way", Start: at(4), End: at(12), Outcome: "ok"},
		{Group: "later", Start: at(11), End: at(12), Outcome: "ok"},
		{Group: "given-up-before", Start: at(1), End: at(2), Finished: at(3)},
		{Group: "given-up", Start: at(9), End: at(11), Finished: at(13)},
		{Group: "cut", Start: at(9), End: at(11), Outcome: "cut before"},
	}
	got := inFlight(calls, at(10), at(10))
	if len(got) != 3 || !got["under-way"] || !got["given-up"] || !got["cut"] {
		t.Errorf("in flight: %v", got)
	}
	if got := inFlight(calls, at(10), at(11)); len(got) != 4 || !got["later"] {
		t.Errorf("in flight up to a second later: %v", got)
	}
	if n := abortedAfter(calls, at(10)); n != 2 {
		t.Errorf("%d aborted, want 2", n)
	}
}

func TestWhenReplicasShareEvenly(t *testing.T) {
	for _, c := range []struct {
		about string
		held  map[string]int
		want  bool
	}{
		{"one more than another", map[string]int{"a": 43, "b": 42}, true},
		{"two more", map[string]int{"a": 43, "b": 41}, false},
		{"some are free", map[string]int{"a": 2, "b": 2, "": 1}, false},
		{"another session has some", map[string]int{"a": 2, "b": 2, "dead": 2}, false},
		{"one has none", map[string]int{"a": 1}, false},
	} {
		if got := even(c.held, []string{"a", "b"}); got != c.want {
			t.Errorf("%s: %v", c.about, got)
		}
	}
}

func TestClaimsAndHoldings(t *testing.T) {
	line := failover.Timeline{
		Sessions: map[string]failover.Session{"s1": {Boot: "a"}, "s2": {Boot: "b"}},
		Rings: []failover.RingSeen{
			{At: at(0), Ring: &ring.Ring{Buckets: []ring.Lock{{Holder: "s1"}, {Holder: "s1"}, {Holder: "s1"}}}},
			{At: at(1), Ring: &ring.Ring{Buckets: []ring.Lock{{Holder: "s1"}, {}, {}}}},
			{At: at(2), Ring: &ring.Ring{Buckets: []ring.Lock{{Holder: "s2"}, {Holder: "s2"}, {}}}},
		},
	}
	if n := claimsIn(line.Moves(at(0))); n != 2 {
		t.Errorf("%d claims, want 2", n)
	}
	if held := holdings(line); held["b"] != 2 || held[""] != 1 || len(held) != 2 {
		t.Errorf("holdings %v", held)
	}
}
