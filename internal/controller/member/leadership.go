package member

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func (p *Provider) leading() bool {
	return p.opts.Leader == nil || p.opts.Leader.Leading()
}

// LeadershipChanged tells the Provider that Options.Leader answers differently now. It does not block and may be
// called at any time. The MemberCluster controller then looks at every MemberCluster: a new leader writes what is due
// and bootstraps members, one that leads no more changes nothing.
func (p *Provider) LeadershipChanged() { p.lookAtAll() }

// lookAtAll has the MemberCluster controller look at every MemberCluster. It does not block.
func (p *Provider) lookAtAll() {
	select {
	case p.elections <- event.TypedGenericEvent[struct{}]{}:
	default: // a look at all of them is due already
	}
}

// allMembers asks for a pass over every MemberCluster.
func (r *reconciler) allMembers(ctx context.Context, _ event.TypedGenericEvent[struct{}], queue requestQueue) {
	list := &v1alpha1.MemberClusterList{}
	if err := r.client.List(ctx, list); err != nil {
		r.provider.opts.Logger.Error(err, "MemberClusters cannot be listed; what a new leader has to write waits for their next change")
		return
	}
	for i := range list.Items {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
	}
}

// commission returns whether this connection may write to its member now, and the term in which it may: a later term
// means that another replica may have written in between.
func (c *connection) commission() (term int, mayWrite bool) {
	c.provider.mu.RLock()
	term = c.term
	c.provider.mu.RUnlock()
	return term, c.Leading()
}

// Leading implements sharding.Leader for writes to the member. It reports whether this connection can write to it now: this replica leads, and
// has seen to the MemberCluster's finalizer. A claim without a finalizer would be left behind.
func (c *connection) Leading() bool {
	c.provider.mu.RLock()
	commissioned := c.commissioned
	c.provider.mu.RUnlock()
	return commissioned && c.provider.leading()
}
