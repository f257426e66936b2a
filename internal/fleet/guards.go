package fleet

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// put records a group, take drops one. The caller holds the lock.
func (f *Fleet) put(key vsphere.GroupKey, g Group) {
	now, m := f.clock.Now(), f.member(g.Ref.Member)
	was, known := f.groups[key]
	f.groups[key] = g
	f.recount(key, &was, &g)
	if known && was.Ref == g.Ref && was.VCenter == g.VCenter {
		m.vms += g.VMs - was.VMs
		m.weigh(key, g, now)
		return
	}
	if known {
		f.leave(key, &was)
	}
	if known && was.Ref.Member != g.Ref.Member { // the cluster has another MemberCluster now, and no VM was removed
		before := f.member(was.Ref.Member).breaker
		before.Set(key, massdeletion.Group{Spared: true}, now)
		before.Remove(key, now)
	}
	f.enter(key, &g)
	m.weigh(key, g, now)
}

func (f *Fleet) take(key vsphere.GroupKey) {
	g, known := f.groups[key]
	if !known {
		return
	}
	delete(f.groups, key)
	f.recount(key, &g, &Group{})
	f.leave(key, &g)
	f.member(g.Ref.Member).breaker.Remove(key, f.clock.Now())
}

// weigh updates the breaker with a group's removals.
func (m *member) weigh(key vsphere.GroupKey, g Group, now time.Time) {
	removes := g.Removes
	if _, confirmed := m.confirmed[g.Ref.Namespace]; confirmed {
		removes.Spared = true
	}
	m.breaker.Set(key, removes, now)
}

// Rules returns the rules that define a mass deletion.
func (f *Fleet) Rules() massdeletion.Rules { return f.rules }

// Trips reports whether the removals of a group are part of a mass deletion in its member. own is the group as its
// reconcile sees it: the informer's event is possibly not processed yet.
func (f *Fleet) Trips(member string, key vsphere.GroupKey, own massdeletion.Group, limit massdeletion.Limit) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.member(member).breaker.Trips(key, own, limit, f.clock.Now())
}
