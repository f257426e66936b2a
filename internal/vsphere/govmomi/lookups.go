package govmomi

import (
	"maps"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// lookUpsAtOnce is the number of look-ups for one member without a wait: twice the VMs of the largest group. lookUpInterval is the time after
	// which the member regains one of them. Each takes up to three calls to vCenter.
	lookUpsAtOnce  = 1000
	lookUpInterval = 100 * time.Millisecond
)

// lookUp is an object that waits for a verdict.
type lookUp struct {
	ref vsphere.Ref
	// member pays for the look-up: one of its groups names the object, and the inventory has not shown it. It is empty for an object that the
	// inventory has shown, or that the operator itself asks for.
	member string
}

// lookUpPace limits the look-ups of objects that groups of a member name. It maps a member to the time at which it has all of lookUpsAtOnce
// again. Users with write access to status can name any objects, and new ones each time.
type lookUpPace map[string]time.Time

// take charges a member for a look-up by a number of instance UUIDs, or returns how long the member must wait.
func (p lookUpPace) take(member string, uuids int, now time.Time) (wait time.Duration) {
	full := p[member]
	if full.Before(now) || full.Sub(now) > 2*lookUpsAtOnce*lookUpInterval { // the clock was set back
		full = now
	}
	if wait = full.Sub(now) - (lookUpsAtOnce-1)*lookUpInterval; wait > 0 {
		return wait
	}
	p[member] = full.Add(time.Duration(min(max(uuids, 1), lookUpsAtOnce)) * lookUpInterval)
	return 0
}

// affordable returns the next batch of objects to look up, and charges their members. If other objects wait only for their members' pace, wait
// is the time until the first of them can be looked up.
func (s *Server) affordable(pending []lookUp) (batch []vsphere.Ref, wait time.Duration) {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.lookUps, func(_ string, full time.Time) bool { return full.Before(now) })
	broke := map[string]bool{}
	for _, next := range pending {
		if len(batch) == confirmBatch {
			break
		}
		if broke[next.member] {
			continue
		}
		if next.member != "" {
			if w := s.lookUps.take(next.member, len(s.uuids[next.ref]), now); w > 0 {
				broke[next.member] = true
				if wait == 0 || w < wait {
					wait = w
				}
				continue
			}
		}
		batch = append(batch, next.ref)
	}
	return batch, wait
}

// attempts are the look-ups without a verdict.
type attempts struct {
	tried map[vsphere.Ref]bool
	// again is the time of their next try, zero if there are none, and pause the last pause before it.
	again time.Time
	pause time.Duration
}

// fresh returns the objects that were not tried, or whose retry is due.
func (a *attempts) fresh(pending []lookUp, now time.Time) []lookUp {
	if len(pending) == 0 || !a.again.IsZero() && !now.Before(a.again) {
		clear(a.tried)
		a.again = time.Time{}
	}
	if len(pending) == 0 {
		a.pause = 0
	}
	var fresh []lookUp
	for _, next := range pending {
		if !a.tried[next.ref] {
			fresh = append(fresh, next)
		}
	}
	return fresh
}

// note records the result of a batch. left are the objects that still wait. After a verdict the pause is short again.
func (a *attempts) note(batch []vsphere.Ref, left []lookUp, now time.Time) {
	waits := make(map[vsphere.Ref]bool, len(left))
	for _, l := range left {
		waits[l.ref] = true
	}
	failed := false
	for _, ref := range batch {
		if waits[ref] {
			a.tried[ref], failed = true, true
		} else {
			a.pause = 0
		}
	}
	if failed && a.again.IsZero() {
		a.pause = min(max(2*a.pause, confirmFirst), confirmLast)
		a.again = now.Add(a.pause)
	}
}
