package vmgroup

import (
	"sync"
	"time"
)

const (
	// silentInterval is how often a group of a member that does not answer is looked at: its health check, not
	// the groups, finds out when it answers again.
	silentInterval = 10 * time.Second
	// laneInterval is how long a group waits when its member or vCenter has as many passes under way as it may.
	laneInterval = 200 * time.Millisecond
)

// lanes bound how many passes may be under way for one member and for one vCenter, so that one that has just gone
// silent cannot take every worker before anybody has noticed. A member may have fewer than a vCenter: a pass that
// waits for a silent member counts for its vCenter as well, and must not shut the vCenter's other members out.
type lanes struct {
	perMember, perVCenter int

	mu   sync.Mutex
	busy map[lane]int
}

type lane struct{ kind, name string }

// newLanes divides workers: one member may have half of them, one vCenter three quarters.
func newLanes(workers int) *lanes {
	return &lanes{perMember: max(1, workers/2), perVCenter: max(1, workers-workers/4), busy: map[lane]int{}}
}

// enter takes a place in both lanes, or none and false. The caller calls leave once.
func (l *lanes) enter(member, vcenter string) (leave func(), ok bool) {
	m, v := lane{"member", member}, lane{"vcenter", vcenter}
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
		for _, name := range []lane{m, v} {
			if l.busy[name]--; l.busy[name] == 0 {
				delete(l.busy, name)
			}
		}
	}, true
}
