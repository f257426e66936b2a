package govmomi

import (
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// lingerFor is the time for which a group is remembered after the last question about it.
const lingerFor = 10 * time.Minute

// lingerers are deleted groups for which another process can have started clones. The zero value is ready to use.
type lingerers struct {
	mu     sync.Mutex
	groups map[vsphere.GroupKey]*lingerer
	// read is the time of the last read of vCenter's tasks.
	read time.Time
}

// lingerer is one such group.
type lingerer struct {
	asked time.Time
	// clones are the still running ones of those that ran at the first read of vCenter's tasks, or nil before that read.
	// Younger clones do not belong to the group.
	clones []string
	known  bool
	// at is the mark at which none ran. A listing that began later shows the VMs that the clones created.
	at uint64
}

// of returns the clones that can belong to a group, and the mark that a listing must be newer than.
func (l *lingerers) of(group vsphere.GroupKey, now time.Time) (clones []string, at uint64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.groups == nil {
		l.groups = map[vsphere.GroupKey]*lingerer{}
	}
	g := l.groups[group]
	if g == nil {
		g = &lingerer{}
		l.groups[group] = g
	}
	g.asked = now
	return slices.Clone(g.clones), g.at, g.known
}

// due returns the time until the next read of vCenter's tasks, or false if no group needs one.
func (l *lingerers) due(now time.Time) (in time.Duration, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for group, g := range l.groups {
		switch {
		case now.Sub(g.asked) > lingerFor:
			delete(l.groups, group)
		case !g.known:
			return 0, true
		case len(g.clones) > 0:
			in, waits = max(0, l.read.Add(idleSettle).Sub(now)), true
		}
	}
	return in, waits
}

// learn stores the running clones, from vCenter's tasks as read since a mark. It reports whether a listing is needed.
func (l *lingerers) learn(now time.Time, at uint64, running []operations.Untracked) (listing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = now
	for _, g := range l.groups {
		if g.known && len(g.clones) == 0 {
			continue
		}
		if !g.known {
			g.known = true
			for _, clone := range running {
				g.clones = append(g.clones, clone.Ref)
			}
		}
		g.clones = slices.DeleteFunc(g.clones, func(task string) bool {
			return !slices.ContainsFunc(running, func(clone operations.Untracked) bool { return clone.Ref == task })
		})
		if len(g.clones) == 0 {
			g.at, listing = at, true
		}
	}
	return listing
}

// Clones returns the clones that another process can have started for a deleted group: see vsphere.Inventory.
func (s *Server) Clones(group vsphere.GroupKey) (running []string, known bool) {
	running, at, known := s.lingerers.of(group, s.cfg.Now())
	if !known {
		kick(s.taskKick)
		return nil, false
	}
	return running, len(running) == 0 && uint64(s.index.Applied()) > at
}
