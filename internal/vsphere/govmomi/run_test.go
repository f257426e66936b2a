package govmomi

import (
	"testing"
	"time"
)

func TestSessionsThatEndAgainAndAgainDoNotMakeTheOperatorWaitLonger(t *testing.T) {
	for _, test := range []struct {
		name  string
		r     round
		pause time.Duration
		want  bool
	}{
		{"a renewed session that had its listing", round{held: 3 * time.Second, served: 3 * time.Second, renewed: true, listed: true}, 8 * time.Second, true},
		{"a renewed session without a listing", round{held: 3 * time.Second, served: 3 * time.Second, renewed: true}, time.Second, false},
		{"a connection that held for longer than the pause", round{held: 3 * time.Second, served: 2 * time.Second}, time.Second, true},
		{"a connection that held for less", round{held: 3 * time.Second, served: 500 * time.Millisecond, listed: true}, time.Second, false},
		{"a round that held for long", round{held: time.Minute, renewed: true}, retryLast, true},
	} {
		if got := test.r.startsOver(test.pause); got != test.want {
			t.Errorf("%s: the pauses start over: %t, want %t", test.name, got, test.want)
		}
	}
}
