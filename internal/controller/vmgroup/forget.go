package vmgroup

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// forget drops the state of a deleted group.
func (r *Reconciler) forget(request mcreconcile.Request) {
	key, g, last := r.Fleet.DeleteGroup(refOf(request))
	of := fleet.Departed{Ref: refOf(request), Key: key}
	if last {
		of.VCenter = g.VCenter
		r.drop(of)
	} else {
		r.departed(of)
	}
	r.leaveLine(request)
}

// leaveLine stops the request of a deleted group from waiting for a place: endless names must not pile up. If another group has
// the name, or gets it meanwhile, its request stays.
func (r *Reconciler) leaveLine(request mcreconcile.Request) {
	if r.named(request) {
		return
	}
	if r.queue.Drop(request); r.named(request) {
		r.queue.Add(request)
	}
}

// named reports whether a group of this name is known, or vanished.
func (r *Reconciler) named(request mcreconcile.Request) bool {
	_, _, known := r.Fleet.GroupAt(refOf(request))
	return known || len(r.vanished.of(request)) > 0
}

// drop drops the state of actions on a group.
func (r *Reconciler) drop(of fleet.Departed) {
	r.vanished.drop(of.Key)
	r.forgetDeparted(of)
}

// departed drops the state of an object that was deleted, or that another replica can act on now. It keeps a group that its
// member shows under another name as well, and one whose MemberCluster has another name now.
func (r *Reconciler) departed(of fleet.Departed) {
	is, known := r.Fleet.Group(of.Key)
	switch {
	case !known:
		r.forgetDeparted(of)
	case is.Ref == of.Ref:
		r.lost(of)
	case is.Ref.Namespace != of.Ref.Namespace || is.Ref.Name != of.Ref.Name:
		r.memory.forget(objectAt(of.Key, of.Ref))
		r.leaveLine(requestAt(of.Ref))
	default:
		r.leaveLine(requestAt(of.Ref))
	}
}

// lost drops the state of a group whose bucket was lost, unless this replica has begun to act on it again. It keeps the state
// of a group that was absent for a moment, and is known again: this state is valid.
func (r *Reconciler) lost(of fleet.Departed) {
	tenure := r.Fleet.Tenure(sharding.Key{ClusterUID: of.Key.Member(), Namespace: of.Ref.Namespace, Name: of.Ref.Name})
	if r.vanished.lost(of.Key, tenure) {
		r.Fleet.DropVanished(of.Ref, of.Key) // this replica no longer manages its VMs
	}
	if r.memory.forgetBefore(objectAt(of.Key, of.Ref), tenure) {
		r.forgetDeparted(of)
	}
}

// forgetDeparted drops the state of a group that was deleted without an event. It keeps a vanished group whose VMs the operator
// still manages.
func (r *Reconciler) forgetDeparted(of fleet.Departed) {
	if r.vanished.has(of.Key) {
		return
	}
	r.memory.forget(objectAt(of.Key, of.Ref))
	r.leaveLine(requestAt(of.Ref))
	if r.Quotas != nil {
		r.Quotas.Forget(quota.Key{Member: of.Ref.Member, UID: types.UID(of.Key.Group())})
	}
	r.leave(of.VCenter, of.Key)
}

// leave removes a group from the state of a vCenter: it no longer needs this replica's budgets there.
func (r *Reconciler) leave(vcenter string, key vsphere.GroupKey) {
	if server, ok := r.Servers.Server(vcenter); ok {
		server.Forget(key)
	}
}

// forgetGone drops the state that a pass has stored about a group that was removed during the pass. The event of the removal
// came before, and comes only once. Without forgetGone, the API server of a member could fill the memory with any number of
// groups. A group in the cache still exists, or its event follows. forgetGone also drops requests to a vCenter that the group
// no longer names.
func (r *Reconciler) forgetGone(ctx context.Context, p pass, of *v1alpha1.VmGroup) {
	key, ref := keyOf(p.Member.UID, of), refOf(requestOf(multicluster.ClusterName(p.Member.Name), of))
	if is, known := r.Fleet.Group(key); known && is.Ref == ref {
		if asked := group.VCenterOf(of); asked != is.VCenter {
			r.leave(asked, key)
		}
		return
	}
	cached := &v1alpha1.VmGroup{}
	if err := p.Cache.Get(ctx, client.ObjectKeyFromObject(of), cached); err == nil && cached.UID == of.UID {
		return
	}
	r.departed(fleet.Departed{Ref: ref, Key: key, VCenter: group.VCenterOf(of)})
}
