package fleet

import (
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// guard is what is known of one member to notice a mass deletion.
type guard struct {
	breaker *massdeletion.Breaker
	// confirmed are the namespaces whose removals somebody confirmed.
	confirmed map[string]struct{}
}

// guardOf returns the guard of a member. The lock is held.
func (f *Fleet) guardOf(member string) *guard {
	of := f.guards[member]
	if of == nil {
		of = &guard{breaker: massdeletion.New(f.rules), confirmed: map[string]struct{}{}}
		f.guards[member] = of
	}
	return of
}

// put records a group, take drops one. The lock is held.
func (f *Fleet) put(key vsphere.GroupKey, g Group) {
	now := f.clock.Now()
	if was, known := f.groups[key]; known {
		f.takeOut(was.Ref.space(), key)
		if was.Ref.Member != g.Ref.Member { // the cluster has another MemberCluster now, and no VM has left
			before := f.guardOf(was.Ref.Member).breaker
			before.Set(key, massdeletion.Group{Spared: true}, now)
			before.Remove(key, now)
		}
	}
	f.groups[key] = g
	f.clusters[key.Member()] = struct{}{}
	f.putIn(g.Ref.space(), key)
	of := f.guardOf(g.Ref.Member)
	removes := g.Removes
	if _, confirmed := of.confirmed[g.Ref.Namespace]; confirmed {
		removes.Spared = true
	}
	of.breaker.Set(key, removes, now)
}

func (f *Fleet) take(key vsphere.GroupKey) {
	g, known := f.groups[key]
	if !known {
		return
	}
	delete(f.groups, key)
	f.takeOut(g.Ref.space(), key)
	f.guardOf(g.Ref.Member).breaker.Remove(key, f.clock.Now())
}

// Rules say what a mass deletion is.
func (f *Fleet) Rules() massdeletion.Rules { return f.rules }

// Trips reports whether what a group of a member removes is part of a mass deletion. own is the group as its pass sees it: the news of its informer may
// still be on their way.
func (f *Fleet) Trips(member string, key vsphere.GroupKey, own massdeletion.Group, limit massdeletion.Limit) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guardOf(member).breaker.Trips(key, own, limit, f.clock.Now())
}

// CountHeld returns how many groups of a member say that they are held, and how many VMs they would remove.
func (f *Fleet) CountHeld(member string) massdeletion.Held {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of := f.guards[member]; of != nil {
		return of.breaker.Held()
	}
	return massdeletion.Held{}
}
