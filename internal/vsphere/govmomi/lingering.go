package govmomi

import (
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// lingerFor is how long a group is remembered that nobody asks about any more.
const lingerFor = 10 * time.Minute

// lingerers are groups that do not exist any more, for which another process may have started clones. The zero value is
// ready to use.
type lingerers struct {
	mu     sync.Mutex
	groups map[vsphere.GroupKey]*lingerer
	// read is when vCenter's tasks were read last.
	read time.Time
}

// lingerer is one of them.
type lingerer struct {
	asked time.Time
	// clones are those that run of the ones that ran when vCenter's tasks were read first; nil before that. What is
	// younger is not of the group.
	clones []string
	known  bool
	// at is the mark at which none ran any more. What they have made is in a listing that began later.
	at uint64
}

// of returns the clones that may be of a group, and the mark that a listing has to be newer than.
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

// due returns how long until vCenter's tasks are to be read again, or false if nobody waits for that.
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

// learn files which clones run, by vCenter's tasks as they were read from a mark on. It reports whether a listing is
// wanted.
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

// Clones returns the clones that another process may have started for a group that is gone: see vsphere.Inventory.
func (s *Server) Clones(group vsphere.GroupKey) (running []string, known bool) {
	running, at, known := s.lingerers.of(group, s.cfg.Now())
	if !known {
		kick(s.taskKick)
		return nil, false
	}
	return running, len(running) == 0 && uint64(s.index.Applied()) > at
}
