package vmgroup

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fairqueue"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// urgent is the priority of groups that go before all others of their member: groups that were taken over, which no replica has
// reconciled for a while, new groups, and groups that lack VMs.
const urgent = 1

// newQueue returns a queue for passes of this many workers. One member can have half of the places, one vCenter three quarters. A member has fewer
// than a vCenter: a pass that waits for an unresponsive member holds a place of its vCenter as well, and must not block the vCenter's other
// members.
func newQueue(name string, workers int, of fairqueue.Flow[mcreconcile.Request], random func() float64) *fairqueue.Queue[mcreconcile.Request] {
	limits := fairqueue.Limits{Workers: workers, PerTenant: max(1, workers/2), PerResource: max(1, workers-workers/4)}
	return fairqueue.New(name, limits, of, fairqueue.NewBackoff[mcreconcile.Request](random))
}

// addUrgent adds a request that goes before others.
func addUrgent(queue *fairqueue.Queue[mcreconcile.Request], request mcreconcile.Request) {
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(urgent)}, request)
}

// controllerOptions disables the priority queue of controller-runtime, and gives the controller the queue of this package. That of
// controller-runtime v0.24 can block its workers forever if it is shut down while items are ready (kubernetes-sigs/controller-runtime#3538,
// fixed after v0.24.1): the manager then ends by its grace period, and its successor waits for half a minute. The shards decide which replica
// acts, not the manager's election.
func controllerOptions(opts Options, queue *fairqueue.Queue[mcreconcile.Request]) controller.TypedOptions[mcreconcile.Request] {
	return controller.TypedOptions[mcreconcile.Request]{
		MaxConcurrentReconciles: opts.Workers, NeedLeaderElection: new(bool), UsePriorityQueue: new(bool),
		NewQueue: func(string, workqueue.TypedRateLimiter[mcreconcile.Request]) workqueue.TypedRateLimitingInterface[mcreconcile.Request] {
			return queue
		},
	}
}

// flow describes requests to the queue. It implements fairqueue.Flow.
type flow struct{ r *Reconciler }

// Tenant implements fairqueue.Flow.
func (flow) Tenant(request mcreconcile.Request) string { return memberOf(request) }

// Resource returns the vCenter that a pass over a group can wait for, or "": groups can name any number of vCenters that do not exist, and
// these are one lane.
func (f flow) Resource(request mcreconcile.Request) string {
	_, g, _ := f.r.Fleet.GroupAt(refOf(request))
	if _, exists := f.r.Servers.Server(g.VCenter); !exists {
		return ""
	}
	return g.VCenter
}

// Exists implements fairqueue.Flow. A cache can have a group before its event arrives.
func (f flow) Exists(request mcreconcile.Request) bool {
	if f.r.named(request) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), memberapi.Timeout)
	defer cancel()
	cl, err := f.r.Clusters.GetCluster(ctx, request.ClusterName)
	if err != nil {
		return false // engaging the member lists its groups again
	}
	return !apierrors.IsNotFound(cl.GetClient().Get(ctx, request.NamespacedName, &v1alpha1.VmGroup{}))
}
