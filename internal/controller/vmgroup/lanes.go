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

// lanes bound how many passes may be under way for one member or one vCenter, so that one that has just gone
// silent cannot take every worker before anybody has noticed.
type lanes struct {
	most int
	mu   sync.Mutex
	busy map[string]int
}

func newLanes(most int) *lanes { return &lanes{most: most, busy: map[string]int{}} }

// enter takes a place in every lane, or none and false. The caller calls leave once.
func (l *lanes) enter(names ...string) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if l.busy[name] >= l.most {
			return nil, false
		}
	}
	for _, name := range names {
		l.busy[name]++
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, name := range names {
			if l.busy[name]--; l.busy[name] == 0 {
				delete(l.busy, name)
			}
		}
	}, true
}
