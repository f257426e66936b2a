package sim

import (
	"sync"
	"time"
)

// vCenter's default lockout policy for single sign-on accounts.
const (
	lockoutFailures = 5
	lockoutWindow   = 180 * time.Second
	lockoutTime     = 300 * time.Second
)

// lockout locks an account after too many rejected logins, from any clients. For a locked account, the answer is that for a wrong password.
type lockout struct {
	mu sync.Mutex
	// failures are the rejected logins of the last three minutes.
	failures []time.Time
	until    time.Time
	// rejected and locked are counters.
	rejected, locked int
}

// login reports whether an attempt succeeds.
func (l *lockout) login(right bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case now.Before(l.until):
		l.rejected++
		return false
	case right:
		l.failures = nil
		return true
	}
	l.rejected++
	l.failures = append(l.failures, now)
	for now.Sub(l.failures[0]) >= lockoutWindow {
		l.failures = l.failures[1:]
	}
	if len(l.failures) >= lockoutFailures {
		l.failures, l.until = nil, now.Add(lockoutTime)
		l.locked++
	}
	return false
}

// reject counts an attempt that does not lock the account, because the token service, which counts failures, does not run.
func (l *lockout) reject() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rejected++
}

// RejectedLogins returns how many logins of the account of the program under test were rejected, and how often the account was locked for
// that.
func (s *Simulator) RejectedLogins() (rejected, locked int) {
	l := &s.rules.access.lockout
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rejected, l.locked
}

// SetPassword changes the password of the account of the program under test.
func (s *Simulator) SetPassword(password string) { s.rules.access.setPassword(password) }
