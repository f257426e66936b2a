package protocol

import (
	"errors"
	"fmt"
	"time"
)

// Timings of the protocol. All replicas of a shard map must have the same Validity and Patience; the shard map records them.
type Timings struct {
	// Renew is the time from one renewal of the session to the next.
	Renew time.Duration
	// Validity is how long this replica can act after a renewal, counted from before its request was sent.
	Validity time.Duration
	// Patience is the takeover timeout: how long a session must have been silent before it can be fenced. The time counts on the
	// observer's own monotonic clock, and only while the observer is valid itself. The difference to Validity absorbs clock drift
	// and the time that a canceled call takes to end.
	Patience time.Duration
	// Request limits one request to the hub.
	Request time.Duration
	// Submit is how much validity must be left to send a call with side effects.
	Submit time.Duration
	// Settle is how long a session must have been ready before buckets are moved to it from others. Free buckets go to it at
	// once.
	Settle time.Duration
	// Orphan is how long a free bucket waits for the session that should take it; after that, any session takes it.
	Orphan time.Duration
	// Drain limits how long a graceful stop waits for calls in flight.
	Drain time.Duration
	// Retention is how long the Lease of a fenced session that holds nothing is kept for inspection.
	Retention time.Duration
	// Proven is how long a session must have been silent to be fenced after its death was proven.
	Proven time.Duration
}

// DefaultTimings return timings for a takeover within 3.5 s after a proven death, and within 12.5 s by silence alone; see
// docs/explanation/sharding.md.
func DefaultTimings() Timings {
	return Timings{
		Renew: 2 * time.Second, Validity: 8 * time.Second, Patience: 12 * time.Second,
		Request: 5 * time.Second, Submit: 3 * time.Second,
		Settle: 15 * time.Second, Orphan: 3 * time.Second, Drain: 20 * time.Second,
		Retention: time.Minute, Proven: 2500 * time.Millisecond,
	}
}

// Scaled multiplies every timing by factor.
func (t Timings) Scaled(factor float64) Timings {
	scale := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	return Timings{
		Renew: scale(t.Renew), Validity: scale(t.Validity), Patience: scale(t.Patience),
		Request: scale(t.Request), Submit: scale(t.Submit),
		Settle: scale(t.Settle), Orphan: scale(t.Orphan), Drain: scale(t.Drain),
		Retention: scale(t.Retention), Proven: scale(t.Proven),
	}
}

var errTimings = errors.New("the timings contradict each other")

// Check returns an error unless the timings can keep the protocol's guarantee.
func (t Timings) Check() error {
	for _, rule := range []struct {
		holds bool
		rule  string
	}{
		{t.Renew > 0 && t.Request > 0 && t.Submit > 0, "all must be positive"},
		{2*t.Renew+t.Submit <= t.Validity, "validity must outlast two renewals and a submission"},
		{t.Validity*5/4 <= t.Patience, "the takeover timeout must exceed validity by a quarter"},
		{t.Proven > t.Renew, "silence after a proven death must exceed a renewal interval"},
	} {
		if !rule.holds {
			return fmt.Errorf("%w: %s (%+v)", errTimings, rule.rule, t)
		}
	}
	return nil
}
