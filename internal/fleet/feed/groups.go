package feed

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// queue is the work queue of a controller. The feed has none, and receivers have their own.
type queue = workqueue.TypedRateLimitingInterface[mcreconcile.Request]

// Groups gets each event of a group, after the fleet has recorded it. Its methods must not block.
type Groups interface {
	// Seen gets a group that exists. left is the VCenter that the group used before, or "" if it did not change.
	Seen(ref fleet.Ref, key vsphere.GroupKey, of *v1alpha1.VmGroup, left string)
	// Removed gets the last state of a group that does not exist any more. The fleet still has it: the receiver deletes
	// it there, or keeps it as one that vanished.
	Removed(ctx context.Context, ref fleet.Ref, of client.Object)
}

// Groups returns the handler of a member's groups. It writes all groups into the fleet, including those of other
// replicas, so that a group that this replica takes over is enqueued from memory.
func (f *Feed) Groups(member multicluster.ClusterName, _ cluster.Cluster) mchandler.EventHandler {
	seen := func(o client.Object) {
		of, ok := o.(*v1alpha1.VmGroup)
		served, engaged := f.fleet.Member(string(member))
		if !ok || !engaged {
			return // engaging the member lists its groups again
		}
		ref, key := named(member, served.UID, of)
		vcenter, left := group.VCenterOf(of), ""
		if was, known := f.fleet.Group(key); known && was.VCenter != vcenter {
			left = was.VCenter
		}
		f.fleet.SetGroup(ref, key, of, vcenter)
		f.groups.Seen(ref, key, of, left)
	}
	return handler.TypedFuncs[client.Object, mcreconcile.Request]{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { seen(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { seen(e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ queue) {
			ref, _ := named(member, "", e.Object)
			f.groups.Removed(ctx, ref, e.Object)
		},
	}
}
