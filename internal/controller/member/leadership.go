package member

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Leadership says whether this replica does what must be done once: it writes MemberClusters, and claims, equips
// and leaves members. Leading must be cheap and safe for concurrent use; it is asked before each write. Tell the
// Provider with [Provider.LeadershipChanged] when the answer changed.
type Leadership interface {
	Leading() bool
}

func (p *Provider) leading() bool {
	return p.opts.Leadership == nil || p.opts.Leadership.Leading()
}

// LeadershipChanged tells the Provider that Options.Leadership answers differently now. It does not block and may be
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
		r.provider.log.Error(err, "MemberClusters cannot be listed; what a new leader has to write waits for their next change")
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
	return term, c.mayWrite()
}

// mayWrite reports whether this connection may write to its member now: this replica leads, and has seen to the
// MemberCluster's finalizer. A claim without a finalizer would be left behind.
func (c *connection) mayWrite() bool {
	c.provider.mu.RLock()
	commissioned := c.commissioned
	c.provider.mu.RUnlock()
	return commissioned && c.provider.leading()
}
