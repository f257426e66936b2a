package vmgroup

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// forget drops what is remembered of a group that is gone.
func (r *Reconciler) forget(request mcreconcile.Request) {
	if key, e, last := r.Groups.forget(request); last {
		r.drop(key, e)
	} else {
		r.missed(key, groupEntry{request: request})
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
func (r *Reconciler) drop(key vsphere.GroupKey, e groupEntry) {
	r.vanished.drop(key)
	r.forgetMissed(key, e)
}

// missed forgets an object that is gone. A group that its member shows by another name as well is not forgotten with it, nor is one whose MemberCluster has
// another name now.
func (r *Reconciler) missed(key vsphere.GroupKey, e groupEntry) {
	is, known := r.Groups.entry(key)
	if !known || is.request == e.request {
		r.forgetMissed(key, e)
		return
	}
	if is.request.NamespacedName != e.request.NamespacedName {
		r.memory.forget(object{key, e.request.NamespacedName})
	}
	r.leaveLine(e.request)
}

// forgetMissed forgets a group that was deleted while nobody watched. One that vanished, and has VMs to be looked after, is not forgotten with it.
func (r *Reconciler) forgetMissed(key vsphere.GroupKey, e groupEntry) {
	if r.vanished.has(key) {
		return
	}
	r.memory.forget(object{key, e.request.NamespacedName})
	r.leaveLine(e.request)
	if r.Quotas != nil {
		r.Quotas.Forget(quota.Key{Member: string(e.request.ClusterName), UID: types.UID(key.Group())})
	}
	r.leave(e.vcenter, key)
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
	key, request := keyOf(p.member.UID, of), requestOf(multicluster.ClusterName(p.member.Name), of)
	if is, known := r.Groups.entry(key); known && is.request == request {
		if asked := vcenterOf(of); asked != is.vcenter {
			r.leave(asked, key)
		}
		return
	}
	cached := &v1alpha1.VmGroup{}
	if err := p.cache.Get(ctx, client.ObjectKeyFromObject(of), cached); err == nil && cached.UID == of.UID {
		return
	}
	r.missed(key, groupEntry{request: request, vcenter: vcenterOf(of)})
}
