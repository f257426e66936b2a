package vmgroup

import (
	"sync"
	"time"
)

const (
	// silentInterval is how often a group of a member that does not answer is looked at: its health check, not
	// the groups, finds out when it answers again.
	silentInterval = 10 * time.Second
	// crowdedInterval is how long a group waits when its member or vCenter has as many passes under way as it may.
	crowdedInterval = 200 * time.Millisecond
)

// limiter bounds how many passes may be under way for one member and for one vCenter, so that one that has just gone
// silent cannot take every worker before anybody has noticed. A member may have fewer than a vCenter: a pass that
// waits for a silent member counts for its vCenter as well, and must not shut the vCenter's other members out.
type limiter struct {
	perMember, perVCenter int

	mu   sync.Mutex
	busy map[limited]int
}

type limited struct{ kind, name string }

// newLimiter divides workers: one member may have half of them, one vCenter three quarters.
func newLimiter(workers int) *limiter {
	return &limiter{perMember: max(1, workers/2), perVCenter: max(1, workers-workers/4), busy: map[limited]int{}}
}

// enter takes a place of the member and of the vCenter, or none and false. The caller calls leave once.
func (l *limiter) enter(member, vcenter string) (leave func(), ok bool) {
	m, v := limited{"member", member}, limited{"vcenter", vcenter}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[m] >= l.perMember || l.busy[v] >= l.perVCenter {
		return nil, false
	}
	l.busy[m]++
	l.busy[v]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, name := range []limited{m, v} {
			if l.busy[name]--; l.busy[name] == 0 {
				delete(l.busy, name)
			}
		}
	}, true
}
