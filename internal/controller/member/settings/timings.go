package settings

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Timings bound every wait for a member. Zero values mean the defaults.
type Timings struct {
	// Dial bounds a TCP connect, and a TLS handshake after it (5 s).
	Dial time.Duration
	// ResponseHeader bounds the wait for an answer to a request that was sent (30 s).
	ResponseHeader time.Duration
	// Answer bounds an answer to its last byte, if it is no watch, and an event of a watch (60 s).
	Answer time.Duration
	// Request bounds one request while connecting (10 s).
	Request time.Duration
	// Establish bounds the wait for an installed CRD to be served (30 s).
	Establish time.Duration
	// Sync bounds the first fill of the caches (60 s).
	Sync time.Duration
	// Engage bounds how long the manager's controllers can take to begin their watches (60 s).
	Engage time.Duration
	// BackoffMin and BackoffMax bound the pause between attempts to connect (1 s, 60 s).
	BackoffMin, BackoffMax time.Duration
	// Await bounds the pause between checks of a member that the leader has not claimed or equipped yet (5 s).
	Await time.Duration
	// Knock is the longest pause between attempts to reach a member that does not answer at all, except for the first seconds of the
	// outage: one attempt is one small request (4 s).
	Knock time.Duration
	// HealthInterval is the pause between health checks of an engaged member (8 s). One that does not answer is checked every second.
	HealthInterval time.Duration
	// HealthTimeout bounds one health check (4 s). With an interval, a failed check, a second of pause and another failed one, an
	// unresponsive member is detected after 17 s at the latest.
	HealthTimeout time.Duration
	// Recheck is the pause before another check of a state that a user must change, such as a foreign claim (30 s).
	Recheck time.Duration
	// Revision is the pause between checks whether the storage of an engaged member went back to a backup (1 min).
	Revision time.Duration
	// Audit is the pause between checks of an engaged member's version and CRD (5 min).
	Audit time.Duration
	// Inspect is the pause between checks whether an admission object was changed or deleted (30 s). With a request for each
	// object it is also the time until the change is undone.
	Inspect time.Duration
	// Reapply is the pause before the admission objects are applied again without a detected change (5 min).
	Reapply time.Duration
	// SchemaLag is the minimum age of the VmGroup CRD before MutatingAdmissionPolicies match it: until API servers have read the
	// schema of a new CRD, which they check for every 5 s, they refuse matching objects (12 s).
	SchemaLag time.Duration
	// Leave bounds the attempts to clean up a member that is removed (30 s).
	Leave time.Duration
	// Settle is how long a member that is left must stay without the operator's finalizers before its claim is released: an
	// outdated replica could restore them (2 s).
	Settle time.Duration
	// RenewAfter bounds the age at which a token is renewed (24 h).
	RenewAfter time.Duration
	// RenewRetryMin and RenewRetryMax bound the pause after a renewal that failed (10 s, 10 min).
	RenewRetryMin, RenewRetryMax time.Duration
	// Counts is the minimum pause between two writes of a member's counts (10 s).
	Counts time.Duration
}

// WithDefaults replaces zero values.
func (t Timings) WithDefaults() Timings {
	for _, item := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&t.Dial, 5 * time.Second},
		{&t.SchemaLag, 12 * time.Second},
		{&t.ResponseHeader, 30 * time.Second},
		{&t.Answer, time.Minute},
		{&t.Request, 10 * time.Second},
		{&t.Establish, 30 * time.Second},
		{&t.Sync, time.Minute},
		{&t.Engage, time.Minute},
		{&t.BackoffMin, time.Second},
		{&t.BackoffMax, time.Minute},
		{&t.Await, 5 * time.Second},
		{&t.Knock, 4 * time.Second},
		{&t.HealthInterval, 8 * time.Second},
		{&t.HealthTimeout, 4 * time.Second},
		{&t.Recheck, 30 * time.Second},
		{&t.Revision, time.Minute},
		{&t.Audit, 5 * time.Minute},
		{&t.Inspect, 30 * time.Second},
		{&t.Reapply, 5 * time.Minute},
		{&t.Leave, 30 * time.Second},
		{&t.Settle, 2 * time.Second},
		{&t.Counts, 10 * time.Second},
		{&t.RenewAfter, 24 * time.Hour},
		{&t.RenewRetryMin, 10 * time.Second},
		{&t.RenewRetryMax, 10 * time.Minute},
	} {
		if *item.value <= 0 {
			*item.value = item.fallback
		}
	}
	return t
}

// Remote are the timeouts of a member's clients.
func (t Timings) Remote() remote.Timeouts {
	return remote.Timeouts{
		Dial: t.Dial, ResponseHeader: t.ResponseHeader, Answer: t.Answer, Request: t.Request, PingInterval: t.HealthInterval, Ping: t.HealthTimeout,
	}
}

// Retry is the pause between attempts: it doubles, and never exceeds BackoffMax.
func (t Timings) Retry() wait.Backoff {
	return wait.Backoff{Duration: t.BackoffMin / 2, Factor: 2, Jitter: 2, Cap: t.BackoffMax / 3, Steps: math.MaxInt}
}

// RenewRetry is the pause between attempts to renew a token: it doubles, and never exceeds RenewRetryMax.
func (t Timings) RenewRetry() wait.Backoff {
	return wait.Backoff{Duration: t.RenewRetryMin, Factor: 2, Jitter: 0.1, Cap: t.RenewRetryMax, Steps: math.MaxInt}
}

// Spread draws from half to three halves of d, so that members that failed together do not reconnect together.
func Spread(d time.Duration) time.Duration { return wait.Jitter(d/2, 2) }
