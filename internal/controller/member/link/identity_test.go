package link

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

func TestThePinnedGoesFirstThenTheOldest(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	tests := []struct {
		name  string
		known map[string]join.Identity
		elder string
	}{
		{"alone", nil, ""},
		{"another cluster", map[string]join.Identity{"a": {ClusterUID: "other", Pinned: false, Created: at(1)}}, ""},
		{"a younger one", map[string]join.Identity{"a": {ClusterUID: "uid", Pinned: false, Created: at(6)}}, ""},
		{"a younger one that is pinned", map[string]join.Identity{"a": {ClusterUID: "uid", Pinned: true, Created: at(6)}}, "a"},
		{"an older one", map[string]join.Identity{"z": {ClusterUID: "uid", Pinned: false, Created: at(4)}}, "z"},
		{"one of the same second, first by name", map[string]join.Identity{"a": {ClusterUID: "uid", Pinned: false, Created: at(5)}}, "a"},
		{"one of the same second, last by name", map[string]join.Identity{"z": {ClusterUID: "uid", Pinned: false, Created: at(5)}}, ""},
		{"the oldest of several", map[string]join.Identity{"x": {ClusterUID: "uid", Pinned: false, Created: at(3)}, "y": {ClusterUID: "uid", Pinned: false, Created: at(2)}, "z": {ClusterUID: "uid", Pinned: false, Created: at(4)}}, "y"},
		{"the pinned one of several", map[string]join.Identity{"x": {ClusterUID: "uid", Pinned: false, Created: at(3)}, "y": {ClusterUID: "uid", Pinned: true, Created: at(9)}, "z": {ClusterUID: "uid", Pinned: false, Created: at(4)}}, "y"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := newIdentities()
			for name, known := range test.known {
				all.known[name] = known
			}
			if got := all.first("me", join.Identity{ClusterUID: "uid", Pinned: false, Created: at(5)}); got != test.elder {
				t.Errorf("elder = %q, want %q", got, test.elder)
			}
		})
	}
}

func TestThePauseGrowsToItsBoundAndSpreads(t *testing.T) {
	timings := settings.Timings{BackoffMin: time.Second, BackoffMax: time.Minute}
	seen := map[time.Duration]bool{}
	for range 100 {
		pause := timings.Retry()
		for i := range 12 {
			most := min(3*time.Second/2<<i, time.Minute)
			got := pause.Step()
			if got < time.Second/2 || got > most || i == 11 && got < 20*time.Second {
				t.Fatalf("pause %d is %s", i, got)
			}
			seen[got] = true
		}
	}
	if len(seen) < 1000 {
		t.Errorf("there are only %d different pauses", len(seen))
	}
}

func TestWaitsForMembersAreFromHalfToThreeHalves(t *testing.T) {
	const usual = time.Minute
	least, most, seen := usual, usual, map[time.Duration]bool{}
	for range 1000 {
		got := settings.Spread(usual)
		least, most = min(least, got), max(most, got)
		seen[got] = true
	}
	if least < usual/2 || most > usual*3/2 {
		t.Errorf("the waits are from %s to %s", least, most)
	}
	// In 1,000 draws, the chance of none below 0.6 or above 1.4 is less than 10^-45.
	if least > usual*6/10 || most < usual*14/10 || len(seen) < 900 {
		t.Errorf("%d different waits from %s to %s: members that went away together come back together", len(seen), least, most)
	}
}
