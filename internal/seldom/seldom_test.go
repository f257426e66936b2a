package seldom

import (
	"testing"
	"time"
)

func TestItIsToldOnceInAnInterval(t *testing.T) {
	var told Told[string]
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what  string
		after time.Duration
		more  int
		tell  bool
	}{
		{"a", 0, 0, true}, {"a", time.Second, 0, false}, {"b", time.Second, 0, true}, {"a", 59 * time.Second, 0, false},
		{"a", 60 * time.Second, 2, true}, {"b", 60 * time.Second, 0, false}, {"a", 119 * time.Second, 0, false}, {"a", 200 * time.Second, 1, true},
		{"a", 500 * time.Second, 0, true}, {"b", 500 * time.Second, 1, true},
	} {
		if more, tell := told.Next(c.what, begun.Add(c.after), time.Minute); more != c.more || tell != c.tell {
			t.Errorf("%s after %v: %d, %v, want %d, %v", c.what, c.after, more, tell, c.more, c.tell)
		}
	}
}
