package term

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Times writes points in time for a person: as ages like kubectl, or in UTC. A time that is not known is <unknown>.
type Times struct {
	// Now is where ages end.
	Now time.Time
	// UTC writes the time itself instead of an age.
	UTC bool
}

// Age returns a cell of a table: "5m", or "2026-01-02T15:04:05Z".
func (t Times) Age(at time.Time) string { return t.write(at, "", "", t.Now.Sub(at)) }

// For returns how long something has been as it is: "5m", or "since 2026-01-02T15:04:05Z".
func (t Times) For(at time.Time) string { return t.write(at, "since ", "", t.Now.Sub(at)) }

// Ago returns when something happened: "5m ago", or "2026-01-02T15:04:05Z".
func (t Times) Ago(at time.Time) string { return t.write(at, "", " ago", t.Now.Sub(at)) }

// Until returns a cell of a table for a time in the future: "5m", or "2026-01-02T15:04:05Z".
func (t Times) Until(at time.Time) string { return t.write(at, "", "", at.Sub(t.Now)) }

// In returns when something will happen: "in 5m", or "at 2026-01-02T15:04:05Z".
func (t Times) In(at time.Time) string {
	if t.UTC || at.IsZero() {
		return "at " + t.Until(at)
	}
	return "in " + t.Until(at)
}

// write returns a time after a preposition, or an age with a suffix.
func (t Times) write(at time.Time, preposition, suffix string, age time.Duration) string {
	switch {
	case at.IsZero():
		return "<unknown>"
	case t.UTC:
		return preposition + at.UTC().Format(time.RFC3339)
	}
	return duration.HumanDuration(age) + suffix
}
