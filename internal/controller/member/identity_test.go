package member

import (
	"testing"
	"time"
)

func TestLearnFindsTheOldestOther(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	tests := []struct {
		name  string
		known map[string]identity
		elder string
	}{
		{"alone", nil, ""},
		{"another cluster", map[string]identity{"a": {"other", at(1)}}, ""},
		{"a younger one", map[string]identity{"a": {"uid", at(6)}}, ""},
		{"an older one", map[string]identity{"z": {"uid", at(4)}}, "z"},
		{"one of the same second, first by name", map[string]identity{"a": {"uid", at(5)}}, "a"},
		{"one of the same second, last by name", map[string]identity{"z": {"uid", at(5)}}, ""},
		{"the oldest of several", map[string]identity{"x": {"uid", at(3)}, "y": {"uid", at(2)}, "z": {"uid", at(4)}}, "y"},
		{"its own former identity", map[string]identity{"me": {"uid", at(5)}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := newIdentities()
			for name, known := range test.known {
				all.known[name] = known
			}
			if got := all.learn("me", identity{"uid", at(5)}); got != test.elder {
				t.Errorf("elder = %q, want %q", got, test.elder)
			}
		})
	}
}

func TestBackoffGrowsToItsBoundAndSpreads(t *testing.T) {
	for _, random := range []float64{0, 0.5, 0.999} {
		b := backoff{least: time.Second, most: time.Minute, random: func() float64 { return random }}
		previous := time.Duration(0)
		for range 12 {
			pause := b.next()
			if pause < previous || pause < time.Second/2 || pause > time.Minute {
				t.Fatalf("random %v: pause %s after %s", random, pause, previous)
			}
			previous = pause
		}
		if previous < 30*time.Second {
			t.Errorf("random %v: the last pause is %s", random, previous)
		}
		b.reset()
		if pause := b.next(); pause > 1500*time.Millisecond {
			t.Errorf("random %v: %s after the reset", random, pause)
		}
	}
}
