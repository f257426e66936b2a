package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/fairqueue"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/feed"
	"github.com/codeconnect/vmgroup-operator/internal/groupmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vcenters,verbs=list;watch

// Shards decides which groups this replica can act on. *sharding.Replica implements it.
type Shards interface {
	sharding.Gate
	// Holds reports whether this replica holds an object now; it is for filtering.
	Holds(sharding.Key) bool
}

// MemberEvents writes events of MemberClusters, and does not block. *events.Members implements it.
type MemberEvents interface {
	effect.MemberEvents
	Contradict(ctx context.Context, member, reason, note string)
}

// Reconciler reconciles VmGroups. All fields but Definitions, Quotas, ReceiptSums and MemberEvents are required.
type Reconciler struct {
	// Observer reads the inputs of passes. The controller gives it its memory.
	*observe.Observer
	// Definitions are the CRDs of members. Without them, a CRD stays.
	Definitions effect.Definitions
	// Shards decides whether this replica can act on a group.
	Shards Shards
	// Quotas grants growth; without it, a group under a quota does not grow.
	Quotas Quotas
	// Records store the admitted specs.
	Records effect.Records
	// HubWrites bounds what each member makes the operator write on the hub.
	HubWrites *writebudget.Budget
	// Receipts record what happened to the VMs of deleted groups.
	Receipts receipts.Store
	// ReceiptSums count the receipts of a member. Without them there is no limit.
	ReceiptSums effect.ReceiptSums
	// MemberEvents writes events of MemberClusters. Without it no such events are written.
	MemberEvents MemberEvents
	// Metrics count what passes do. It can be nil.
	Metrics *groupmetrics.Passes

	queue    *fairqueue.Queue[mcreconcile.Request]
	vanished *vanished
	memory   memory
	// effects carry out the steps of passes.
	effects    effect.Table
	feed       *feed.Feed
	departures *worker[fleet.Departed]
	twins      *worker[fleet.Twins]
}

// silentInterval is how often the operator checks a group of a member that does not answer. The health check of the member, and not
// its groups, detects when it answers again.
const silentInterval = 10 * time.Second

// unreadInterval is the pause before the next pass while the records have not been read, and overtakenInterval the one after a change during a pass.
const unreadInterval, overtakenInterval = 200 * time.Millisecond, time.Second

// Options are settings of the controller.
type Options struct {
	// Workers is the number of groups that are reconciled at a time. Passes do not wait for vCenter's tasks, so
	// a few dozen serve thousands of groups.
	Workers int
}

// SetupWithManager registers the controller. It must be called once, before the manager is started.
func (r *Reconciler) SetupWithManager(mgr mcmanager.Manager, opts Options) error {
	r.vanished, r.queue = newVanished(), newQueue("vmgroup", opts.Workers, flow{r}, rand.Float64)
	r.serve()
	if err := r.equip(); err != nil {
		return fmt.Errorf("make the effects of passes: %w", err)
	}
	local := mgr.GetLocalManager()
	if err := mgr.Add(r.feed); err != nil {
		return fmt.Errorf("add the feed of the fleet: %w", err)
	}
	for what, runs := range map[string]manager.Runnable{"deleted groups": r.departures, "groups with one UID": r.twins} {
		if err := local.Add(runs); err != nil {
			return fmt.Errorf("add what takes the news of %s: %w", what, err)
		}
	}
	options := controllerOptions(opts, r.queue)
	options.LogConstructor = r.logger(mgr.GetLogger().WithValues("controller", "vmgroup"))
	options.SkipNameValidation = mgr.GetControllerOptions().SkipNameValidation // mcbuilder v0.24 does not hand it on
	return mcbuilder.ControllerManagedBy(mgr).
		Named("vmgroup").
		WithOptions(options).
		WatchesRawSource(source.TypedFunc[mcreconcile.Request](
			func(context.Context, workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error {
				r.Fleet.SubscribeGroups(groupSink{r.queue})
				return nil
			})).
		WatchesRawSource(source.TypedKind(local.GetCache(), &v1alpha1.VCenter{},
			handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, vcenter *v1alpha1.VCenter) []mcreconcile.Request {
				r.Fleet.VCenterChanged(vcenter.Name)
				return nil
			}), predicate.Or[*v1alpha1.VCenter](predicate.TypedGenerationChangedPredicate[*v1alpha1.VCenter]{}, annotated()))).
		WatchesRawSource(source.TypedKind(local.GetCache(), &v1alpha1.VmGroupPolicy{},
			handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, *v1alpha1.VmGroupPolicy) []mcreconcile.Request {
				r.PoliciesChanged()
				r.Fleet.PoliciesChanged()
				return nil
			}), predicate.TypedGenerationChangedPredicate[*v1alpha1.VmGroupPolicy]{})).
		Complete(r)
}

// serve creates the sinks for events of Fleet.
func (r *Reconciler) serve() {
	r.feed, r.Memory = feed.New(r.Fleet, r), recollection{r}
	r.departures, r.twins = newWorker(func(_ context.Context, of fleet.Departed) { r.departed(of) }), newWorker(r.sharedUID)
	r.Fleet.SubscribeDeparted(r.departures)
	r.Fleet.SubscribeTwins(r.twins)
}

// annotated passes on a change of the annotations that accept another vCenter, and that allow the operator to forget groups.
func annotated() predicate.TypedPredicate[*v1alpha1.VCenter] {
	return predicate.TypedFuncs[*v1alpha1.VCenter]{UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.VCenter]) bool {
		differs := func(annotation string) bool {
			return e.ObjectOld.Annotations[annotation] != e.ObjectNew.Annotations[annotation]
		}
		return differs(v1alpha1.AcceptInstanceAnnotation) || differs(v1alpha1.AllowForgetAnnotation)
	}}
}

// Seen implements feed.Groups. Only the groups of this replica are enqueued.
func (r *Reconciler) Seen(ref fleet.Ref, key vsphere.GroupKey, of *v1alpha1.VmGroup, left string) {
	if left != "" {
		r.leave(left, key)
	}
	r.vanished.seen(key, of)
	request := requestAt(ref)
	if !r.holds(request) {
		return
	}
	if of.Status.ObservedGeneration == 0 {
		addUrgent(r.queue, request) // no pass has run: hundreds of groups that users edited need not come first
		return
	}
	r.queue.Add(request)
}

// Removed implements feed.Groups.
func (r *Reconciler) Removed(ctx context.Context, ref fleet.Ref, o client.Object) {
	of, ok := o.(*v1alpha1.VmGroup)
	served, engaged := r.Fleet.Member(ref.Member)
	request := requestAt(ref)
	if ok && engaged && r.vanishes(ctx, request, served, of) {
		r.queue.Add(request)
		return
	}
	r.forget(request)
	r.queue.Forget(request)
}

func memberOf(request mcreconcile.Request) string { return string(request.ClusterName) }

// refOf is the Fleet reference of a request's group, and requestAt the request of a reference.
func refOf(request mcreconcile.Request) fleet.Ref {
	return fleet.Ref{Member: memberOf(request), Namespace: request.Namespace, Name: request.Name}
}

func requestAt(ref fleet.Ref) mcreconcile.Request {
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	return mcreconcile.Request{ClusterName: multicluster.ClusterName(ref.Member), Request: reconcile.Request{NamespacedName: name}}
}

func requestOf(member multicluster.ClusterName, o client.Object) mcreconcile.Request {
	return mcreconcile.Request{ClusterName: member, Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// keyOf is the key of a group of a member with this UID.
func keyOf(member string, group client.Object) vsphere.GroupKey {
	return vsphere.KeyOf(member, string(group.GetUID()))
}

// key of a group, or false while its member is not engaged.
func (r *Reconciler) key(request mcreconcile.Request) (sharding.Key, bool) {
	member, ok := r.Fleet.Member(string(request.ClusterName))
	return sharding.Key{ClusterUID: member.UID, Namespace: request.Namespace, Name: request.Name}, ok
}

func (r *Reconciler) holds(request mcreconcile.Request) bool {
	key, ok := r.key(request)
	return ok && r.Shards.Holds(key)
}

// Reconcile runs one pass over one group. It returns an error only for errors of the Kubernetes API. Errors of vCenter become a
// condition and a time of the next pass. The text of the error is short: the member can have written it.
func (r *Reconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (reconcile.Result, error) {
	member, ok := r.Fleet.Member(string(req.ClusterName))
	if !ok {
		for _, v := range r.vanished.of(req) {
			r.forgetVanished(v)
		}
		// A member that is not engaged is unknown, not empty: its groups and VMs stay as they are. Engaging it
		// lists its groups again.
		return reconcile.Result{}, nil
	}
	r.HubWrites.Meet(member.UID, member.Name)
	key := sharding.Key{ClusterUID: member.UID, Namespace: req.Namespace, Name: req.Name}
	if !r.Shards.Holds(key) {
		return reconcile.Result{}, nil // the object of this pass belongs to another replica now
	}
	if _, _, err := r.Admitted.Of(admitted.Key{Member: member.UID}); errors.Is(err, admitted.ErrUnread) {
		return reconcile.Result{RequeueAfter: unreadInterval}, nil // that is so for a moment after a start
	}
	if member.Silent {
		return reconcile.Result{RequeueAfter: silentInterval}, nil
	}
	tenure := r.Fleet.Tenure(key)
	token, ok := r.Shards.Enter(ctx, key)
	if !ok {
		return reconcile.Result{}, nil
	}
	defer token.Exit()
	if r.Fleet.Tenure(key) != tenure {
		return reconcile.Result{}, nil // the bucket was lost and regained meanwhile, and delivers its groups
	}
	ctx = vsphere.WithFence(token.Context(), token.Check)
	epoch := token.Epoch()
	ctx = vsphere.WithOperation(ctx, fmt.Sprintf("vmgroup-%d.%d-%s", epoch.Generation, epoch.Number, controller.ReconcileIDFromContext(ctx)))

	cl, err := r.Clusters.GetCluster(ctx, req.ClusterName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("find the clients of member %q: %w", req.ClusterName, err)
	}
	// Writes with these clients count under a number of restores that is not older than the clients.
	uid := member.UID
	if member, ok = r.Fleet.Member(member.Name); !ok || member.UID != uid {
		return reconcile.Result{}, nil // engaging it lists its groups again
	}
	p := pass{r: r, tenure: tenure, epoch: v1alpha1.Epoch(epoch), client: cl.GetClient()}
	p.Pass = effect.Pass{
		Member: member, Cache: cl.GetClient(), Live: cl.GetAPIReader(), Events: cl.GetEventRecorder("vmgroup-operator"), Metrics: r.Metrics, Now: r.Now(),
	}
	after, buryErr := r.buryVanished(ctx, req, p)
	result, err := r.passOver(ctx, req, p)
	result.RequeueAfter = sooner(result.RequeueAfter, after)
	if err = errors.Join(err, buryErr); memberapi.Overtaken(err, req.Name) {
		log.FromContext(ctx).V(1).Info("The pass was overtaken", "error", memberapi.ErrorText(err))
		return reconcile.Result{RequeueAfter: overtakenInterval}, nil
	}
	return result, failed(req, err)
}

// passOver runs a pass over the group of this name, if there is one.
func (r *Reconciler) passOver(ctx context.Context, req mcreconcile.Request, p pass) (reconcile.Result, error) {
	group := &v1alpha1.VmGroup{}
	if err := p.Cache.Get(ctx, req.NamespacedName, group); err != nil {
		if apierrors.IsNotFound(err) {
			if len(r.vanished.of(req)) == 0 {
				r.forget(req)
			}
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read VmGroup from the cache: %w", err)
	}
	defer r.forgetGone(ctx, p, group)
	r.memory.begin(objectOf(p.Member.UID, group), p.tenure)
	if r.behind(ctx, p, group) {
		// The informer's event for our own write brings the group back; the delay is only a net below it.
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return p.run(ctx, group)
}
