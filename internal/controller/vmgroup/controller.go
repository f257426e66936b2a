package vmgroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vcenters,verbs=get;list;watch

// Member is what a reconcile needs to know of the member cluster a group lives in.
type Member struct {
	// Name of the MemberCluster, and UID of the cluster behind it.
	Name, UID string
	// Paused stops every action on the member's groups.
	Paused bool
	// Silent is true while the member does not answer. Nothing can be stored there, so nothing is done.
	Silent bool
	// UserDataSecrets says whether groups may hand a Secret to their VMs.
	UserDataSecrets v1alpha1.UserDataSecrets
}

// Members finds member clusters by name; false means that the member is not engaged now.
type Members func(name string) (Member, bool)

// Clusters finds the clients of an engaged member.
type Clusters interface {
	GetCluster(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// Reconciler reconciles VmGroups. All fields are required.
type Reconciler struct {
	// Clusters and Members are the members that are engaged.
	Clusters Clusters
	Members  Members
	// Hub reads VCenters from the hub's cache.
	Hub client.Reader
	// Servers are the vCenters.
	Servers vsphere.Servers
	// Gate decides whether this replica may act on a group.
	Gate sharding.Gate
	// Groups is told of every group that is seen.
	Groups *Groups
	// Installation is the UID of this installation, part of every owner stamp.
	Installation string
	// Now is the clock.
	Now func() time.Time

	writes *writes
	lanes  *lanes
}

// Options are settings of the controller.
type Options struct {
	// Workers is the number of groups that are reconciled at a time. Passes do not wait for vCenter's tasks, so
	// a few dozen serve thousands of groups.
	Workers int
}

// SetupWithManager registers the controller. It must be called once, before the manager is started.
func (r *Reconciler) SetupWithManager(mgr mcmanager.Manager, opts Options) error {
	r.writes = newWrites()
	r.lanes = newLanes(opts.Workers)
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	local := mgr.GetLocalManager()
	return mcbuilder.ControllerManagedBy(mgr).
		Named("vmgroup").
		For(&v1alpha1.VmGroup{}).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: opts.Workers}).
		Watches(namespaces, r.onNamespace, mcbuilder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(source.TypedFunc[mcreconcile.Request](
			func(_ context.Context, queue workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error {
				r.Groups.deliverTo(queue.Add)
				return nil
			})).
		WatchesRawSource(source.TypedKind(local.GetCache(), &v1alpha1.VCenter{},
			handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, vcenter *v1alpha1.VCenter) []mcreconcile.Request {
				r.Groups.VCenterChanged(vcenter.Name)
				return nil
			}), predicate.TypedGenerationChangedPredicate[*v1alpha1.VCenter]{})).
		Complete(r)
}

// onNamespace reconciles a namespace's groups when its labels change, since grants select by them. The groups
// of a namespace that is new are reconciled because they are new.
func (r *Reconciler) onNamespace(member multicluster.ClusterName, _ cluster.Cluster) mchandler.EventHandler {
	return handler.TypedFuncs[client.Object, mcreconcile.Request]{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[mcreconcile.Request]) {
			r.Groups.namespaceChanged(string(member), e.ObjectNew.GetName())
		},
	}
}

// Reconcile runs one pass over one group. It returns an error only for what Kubernetes' API refused; whatever
// vCenter says becomes a condition and a time to look again.
func (r *Reconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (reconcile.Result, error) {
	member, ok := r.Members(string(req.ClusterName))
	if !ok {
		// A member that is not engaged is unknown, not empty: its groups and VMs stay as they are. Engaging it
		// lists its groups again.
		r.writes.forget(r.Groups.forget(req))
		return reconcile.Result{}, nil
	}
	if member.Silent {
		return reconcile.Result{RequeueAfter: silentInterval}, nil
	}
	leave, ok := r.lanes.enter(member.Name, r.Groups.vcenterOf(req))
	if !ok {
		return reconcile.Result{RequeueAfter: laneInterval}, nil
	}
	defer leave()
	token, ok := r.Gate.Enter(ctx, sharding.Key{ClusterUID: member.UID, Namespace: req.Namespace, Name: req.Name})
	if !ok {
		return reconcile.Result{}, nil
	}
	defer token.Exit()
	ctx = vsphere.WithFence(token.Context(), token.Check)
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("member", member.Name, "VmGroup", klog.KRef(req.Namespace, req.Name)))

	cl, err := r.Clusters.GetCluster(ctx, req.ClusterName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("find the clients of member %q: %w", req.ClusterName, err)
	}
	group := &v1alpha1.VmGroup{}
	if err := cl.GetClient().Get(ctx, req.NamespacedName, group); err != nil {
		if apierrors.IsNotFound(err) {
			r.writes.forget(r.Groups.forget(req))
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read VmGroup from the cache: %w", err)
	}
	if r.writes.stale(group.UID, group.ResourceVersion) {
		// The informer's event for our own write brings the group back; the delay is only a net below it.
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	r.Groups.seen(req, group, vcenterOf(group))

	p := &pass{
		r: r, group: group, member: member, epoch: token.Epoch(),
		client: cl.GetClient(), liveReader: cl.GetAPIReader(), events: recorder(cl), now: r.Now(),
		id: vsphere.GroupID{Installation: r.Installation, Member: member.UID, Group: string(group.UID)},
	}
	return p.run(ctx)
}

func recorder(cl cluster.Cluster) events.EventRecorder {
	return cl.GetEventRecorder("vmgroup-operator")
}
