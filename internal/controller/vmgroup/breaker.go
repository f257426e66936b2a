package vmgroup

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
func (g *Groups) guardOf(member string) *guard {
	of := g.guards[member]
	if of == nil {
		of = &guard{breaker: massdeletion.New(g.rules), confirmed: map[string]struct{}{}}
		g.guards[member] = of
	}
	return of
}

// put records a group, take drops one. The lock is held.
func (g *Groups) put(key vsphere.GroupKey, e groupEntry) {
	g.byKey[key] = e
	of := g.guardOf(string(e.request.ClusterName))
	counts := e.counts
	if _, confirmed := of.confirmed[e.request.Namespace]; confirmed {
		counts.Spared = true
	}
	of.breaker.Set(key, counts, g.now())
}

func (g *Groups) take(key vsphere.GroupKey) {
	e, known := g.byKey[key]
	if !known {
		return
	}
	delete(g.byKey, key)
	g.guardOf(string(e.request.ClusterName)).breaker.Remove(key, g.now())
}

// namespaceSeen takes news of a namespace, and whether all that its groups remove is confirmed.
func (g *Groups) namespaceSeen(member, namespace string, confirmed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.guardOf(member)
	if _, was := of.confirmed[namespace]; was == confirmed {
		return
	}
	if confirmed {
		of.confirmed[namespace] = struct{}{}
	} else {
		delete(of.confirmed, namespace)
	}
	for key, e := range g.byKey {
		if string(e.request.ClusterName) == member && e.request.Namespace == namespace {
			g.put(key, e)
		}
	}
}

// trips reports whether what a group removes is part of a mass deletion. own is the group as its pass sees it: its informer's news may still be on
// their way.
func (g *Groups) trips(member string, key vsphere.GroupKey, own massdeletion.Group, limit massdeletion.Limit) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.guardOf(member).breaker.Trips(key, own, limit, g.now())
}

// CountHeld returns how many groups of a member say that they are part of a mass deletion, and how many VMs they would remove.
func (g *Groups) CountHeld(member string) (groups, vms int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if of := g.guards[member]; of != nil {
		return of.breaker.Held()
	}
	return 0, 0
}
