package term_test

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/term"
)

func TestTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	before, after := now.Add(-5*time.Minute).In(time.FixedZone("", 3600)), now.Add(5*time.Minute)
	ages, utc := term.Times{Now: now}, term.Times{Now: now, UTC: true}
	for _, c := range []struct{ got, want string }{
		{ages.Age(before), "5m"}, {ages.For(before), "5m"}, {ages.Ago(before), "5m ago"}, {ages.Until(after), "5m"}, {ages.In(after), "in 5m"},
		{utc.Age(before), "2026-01-02T14:59:05Z"}, {utc.For(before), "since 2026-01-02T14:59:05Z"}, {utc.Ago(before), "2026-01-02T14:59:05Z"},
		{utc.Until(after), "2026-01-02T15:09:05Z"}, {utc.In(after), "at 2026-01-02T15:09:05Z"},
		{ages.Age(time.Time{}), "<unknown>"}, {utc.For(time.Time{}), "<unknown>"}, {ages.In(time.Time{}), "at <unknown>"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
