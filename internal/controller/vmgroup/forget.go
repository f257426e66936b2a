package vmgroup

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// forget drops what is remembered of a group that is gone.
func (r *Reconciler) forget(request mcreconcile.Request) {
	if key, g, last := r.Fleet.DeleteGroup(refOf(request)); last {
		r.drop(key, g)
	} else {
		r.missed(key, fleet.Group{Ref: refOf(request)})
	}
	r.leaveLine(request)
}

// leaveLine lets the request of a group that is gone wait for no place any more: names that never end must not pile up. One of a group that
// vanished is kept.
func (r *Reconciler) leaveLine(request mcreconcile.Request) {
	if len(r.vanished.of(request)) == 0 {
		r.limiter.forget(request)
	}
}

// drop forgets what is remembered of acting on a group.
func (r *Reconciler) drop(key vsphere.GroupKey, g fleet.Group) {
	r.vanished.drop(key)
	r.forgetMissed(key, g)
}

// missed forgets an object that is gone. A group that its member shows by another name as well is not forgotten with it, nor is one whose MemberCluster has
// another name now.
func (r *Reconciler) missed(key vsphere.GroupKey, g fleet.Group) {
	is, known := r.Fleet.Group(key)
	if !known || is.Ref == g.Ref {
		r.forgetMissed(key, g)
		return
	}
	if is.Ref.Namespace != g.Ref.Namespace || is.Ref.Name != g.Ref.Name {
		r.memory.forget(objectAt(key, g.Ref))
	}
	r.leaveLine(requestAt(g.Ref))
}

// forgetMissed forgets a group that was deleted while nobody watched. One that vanished, and has VMs to be looked after, is not forgotten with it.
func (r *Reconciler) forgetMissed(key vsphere.GroupKey, g fleet.Group) {
	if r.vanished.has(key) {
		return
	}
	r.memory.forget(objectAt(key, g.Ref))
	r.leaveLine(requestAt(g.Ref))
	if r.Quotas != nil {
		r.Quotas.Forget(quota.Key{Member: g.Ref.Member, UID: types.UID(key.Group())})
	}
	r.leave(g.VCenter, key)
}

// leave has a vCenter forget a group: it wants nothing of this replica's budgets there any more.
func (r *Reconciler) leave(vcenter string, key vsphere.GroupKey) {
	if server, ok := r.Servers.Server(vcenter); ok {
		server.Forget(key)
	}
}

// forgetGone forgets what a pass has remembered of a group that was removed while it went on. The news of that came before, and come only once: who answers
// for a member could else have any number of groups remembered for good. A group that the cache still has is not gone, or news of it are to come. What it may
// have asked of a vCenter that it names no more is forgotten as well.
func (r *Reconciler) forgetGone(ctx context.Context, p pass, of *v1alpha1.VmGroup) {
	key, ref := keyOf(p.member.UID, of), refOf(requestOf(multicluster.ClusterName(p.member.Name), of))
	if is, known := r.Fleet.Group(key); known && is.Ref == ref {
		if asked := vcenterOf(of); asked != is.VCenter {
			r.leave(asked, key)
		}
		return
	}
	cached := &v1alpha1.VmGroup{}
	if err := p.cache.Get(ctx, client.ObjectKeyFromObject(of), cached); err == nil && cached.UID == of.UID {
		return
	}
	r.missed(key, fleet.Group{Ref: ref, VCenter: vcenterOf(of)})
}
