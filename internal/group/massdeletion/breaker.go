package massdeletion

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// sweepInterval is the minimum interval between checks of the age of all groups.
const sweepInterval = 100 * time.Millisecond

// Breaker adds up the removals of one member. It is not safe for concurrent use.
//
// Each change updates the sums, so that the cost of a question does not depend on the number of groups. A question also detects groups that have become old, at most every
// [sweepInterval].
type Breaker struct {
	rules  Rules
	groups map[vsphere.GroupKey]entry
	sums   sums
	window window
	swept  time.Time
	held   Held
}

// Held counts the groups of a member that report a hold, and the VMs that they would remove.
type Held struct {
	// Groups and VMs are those of a mass deletion.
	Groups, VMs int
	// SweptGroups and SweptVMs are those of groups that are deleted because their CRD was deleted.
	SweptGroups, SweptVMs int
}

func (h *Held) add(g Group, sign int) {
	n := g.Removes()
	switch {
	case n == 0:
	case g.Swept:
		h.SweptGroups, h.SweptVMs = h.SweptGroups+sign, h.SweptVMs+sign*n
	case g.Held:
		h.Groups, h.VMs = h.Groups+sign, h.VMs+sign*n
	}
}

// HeldOf counts one group.
func HeldOf(g Group) (h Held) {
	h.add(g, 1)
	return h
}

// entry is a group, and whether it is in the sums.
type entry struct {
	Group
	counted bool
}

// sums over the groups that count.
type sums struct {
	// removing is the number of groups that remove VMs. removes is the number of these VMs. all is the number of all VMs.
	removing, removes, all int
}

// New returns an empty Breaker.
func New(rules Rules) *Breaker {
	return &Breaker{rules: rules, groups: map[vsphere.GroupKey]entry{}}
}

// Set updates a group.
func (b *Breaker) Set(key vsphere.GroupKey, group Group, now time.Time) {
	old, known := b.groups[key]
	next := entry{Group: group, counted: group.Guarded(now, b.rules.Age)}
	if known {
		b.drop(old)
		if old.counted && !group.Spared {
			// VMs that left for another reason do not count, such as a VM that a person deleted, or that was replaced.
			wanted := min(old.Wanted, group.Wanted) + old.Updates
			b.window.add(key, min(old.Existing-group.Existing, old.Existing-wanted), now, b.rules.Window)
		}
	}
	b.groups[key] = next
	b.take(next)
}

// Remove removes a deleted group. Whether its last VMs were deleted with it is unknown, so they count.
func (b *Breaker) Remove(key vsphere.GroupKey, now time.Time) {
	old, known := b.groups[key]
	if !known {
		return
	}
	delete(b.groups, key)
	b.drop(old)
	if old.counted {
		b.window.add(key, old.Existing, now, b.rules.Window)
	}
}

// Trips reports whether the removals of a group are part of a mass deletion: all groups together remove too much, and it is not this group alone. own is the current group, which
// can be newer than the last update by Set.
func (b *Breaker) Trips(key vsphere.GroupKey, own Group, limit Limit, now time.Time) bool {
	b.sweep(now)
	others := b.sums
	others.add(b.groups[key], -1)
	all := others
	all.add(entry{Group: own, counted: own.Guarded(now, b.rules.Age)}, 1)
	left, another := b.window.left(key)
	return (others.removing > 0 || another) && limit.Exceeded(all.removes+left, all.all+left)
}

// Held returns the counts of held groups.
func (b *Breaker) Held() Held { return b.held }

func (b *Breaker) sweep(now time.Time) {
	b.window.expire(now, b.rules.Window)
	if since := now.Sub(b.swept); since >= 0 && since < sweepInterval {
		return
	}
	b.swept = now
	for key, e := range b.groups {
		if counts := e.Guarded(now, b.rules.Age); counts != e.counted {
			b.drop(e)
			e.counted = counts
			b.take(e)
			b.groups[key] = e
		}
	}
}

func (b *Breaker) take(e entry) { b.count(e, 1) }
func (b *Breaker) drop(e entry) { b.count(e, -1) }

func (b *Breaker) count(e entry, sign int) {
	b.held.add(e.Group, sign)
	b.sums.add(e, sign)
}

// add adds a group to the sums, or removes it.
func (s *sums) add(e entry, sign int) {
	if !e.counted {
		return
	}
	s.all += sign * e.Existing
	if n := e.Removes(); n > 0 {
		s.removing, s.removes = s.removing+sign, s.removes+sign*n
	}
}
