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
	if was, known := g.byKey[key]; known {
		g.takeOut(namespaceOf(was.request), key)
	}
	g.byKey[key] = e
	g.putIn(namespaceOf(e.request), key)
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
	g.takeOut(namespaceOf(e.request), key)
	g.guardOf(string(e.request.ClusterName)).breaker.Remove(key, g.now())
}

// trips reports whether what a group removes is part of a mass deletion. own is the group as its pass sees it: its informer's news may still be on
// their way.
func (g *Groups) trips(member string, key vsphere.GroupKey, own massdeletion.Group, limit massdeletion.Limit) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.guardOf(member).breaker.Trips(key, own, limit, g.now())
}

// CountHeld returns how many groups of a member say that they are held, and how many VMs they would remove.
func (g *Groups) CountHeld(member string) massdeletion.Held {
	g.mu.Lock()
	defer g.mu.Unlock()
	if of := g.guards[member]; of != nil {
		return of.breaker.Held()
	}
	return massdeletion.Held{}
}
