package govmomi

import (
	"maps"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// lookUpsAtOnce is how many objects are looked up for one member without a wait, twice as many as the largest group has VMs, and
	// lookUpInterval the time after which the member has one of them back. Each takes up to three calls to vCenter.
	lookUpsAtOnce  = 1000
	lookUpInterval = 100 * time.Millisecond
)

// lookUp is an object that waits for a verdict.
type lookUp struct {
	ref vsphere.Ref
	// member pays for the look-up: a group of it names the object, and the inventory has not shown it. Empty for an object that the
	// inventory has shown, or that the operator itself asks for.
	member string
}

// lookUpPace is at which pace objects are looked up that groups of a member name: by member, when it has all of lookUpsAtOnce again. Users who
// can write status can name any objects, and others each time.
type lookUpPace map[string]time.Time

// take charges a member for a look-up by a number of instance UUIDs, or returns how long it has to wait.
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

// affordable returns the next batch of objects to look up, and charges their members. If others wait for their members' pace alone, it returns
// after which time the first of them does not.
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

// attempts are the look-ups that gave no verdict.
type attempts struct {
	tried map[vsphere.Ref]bool
	// again is when they are tried again, zero if there are none, and pause the last pause before that.
	again time.Time
	pause time.Duration
}

// fresh returns what was not tried, or has to be tried again by now.
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

// note takes in what became of a batch: left are the objects that still wait. After a verdict the pause is short again.
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
