package vcenter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/passes"
	orphaned "github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/kstatus"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vcenters,verbs=list;watch;patch
// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vcenters/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=list;watch,namespace=system

// lookInterval is the interval of comparisons of a connection's health with status. A comparison reads memory. Important changes arrive at
// once through vsphere.Notifier.
const lookInterval = 10 * time.Second

// deletionSeen is how long after the leader has seen that a VCenter is being deleted each other replica that holds a group has seen it too.
const deletionSeen = time.Minute

// soon is the pause before the next check of something in progress.
const soon = time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Groups are the users of the vCenters.
type Groups interface {
	// GroupChanged reports that the observation of a group can differ.
	GroupChanged(group vsphere.GroupKey)
	// VCenterChanged enqueues the groups of a vCenter.
	VCenterChanged(vcenter string)
	// CountVCenter returns the number of groups that use a vCenter with these grants, and CountActed of those for which the operator acted there.
	CountVCenter(ctx context.Context, vcenter string, grants []v1alpha1.Grant) int
	CountActed(vcenter string) int
	// Expected returns the VMs that the groups of these members expect in a vCenter. known is false until all of their groups are known.
	Expected(vcenter string, members []string) (e vsphere.Expectation, known bool)
	// Absent reports whether a group does not exist. known is false if its member is not engaged or does not respond.
	Absent(group vsphere.GroupKey) (absent, known bool)
	// SetVCenter notes that a VCenter exists, and DeleteVCenter that it was deleted.
	SetVCenter(name string)
	DeleteVCenter(name string)
	// SetOrphans stores the deleted groups with VMs in a vCenter, and until when the list counts as complete, except for undecided members.
	SetOrphans(vcenter string, of []orphaned.Group, undecided sets.Set[string], until time.Time)
}

// Receipts record what happened to the VMs of deleted groups. *receipts.Index implements it.
type Receipts interface {
	// Keeps reports whether the VMs of a deleted group were kept.
	Keeps(group vsphere.GroupKey) bool
	// Settle removes the receipts of a VCenter whose VMs are certainly gone.
	Settle(ctx context.Context, vcenter string) error
}

// Members are the API servers of the members. *observe.Sources implements it.
type Members interface {
	// NoGroup reports whether a member certainly has no VmGroup with this name whose UID has this prefix. No group with such a UID can be known
	// either.
	NoGroup(ctx context.Context, member string, name types.NamespacedName, uid string) (bool, error)
}

// Dial creates a connection that is not started yet.
type Dial func(Config, vsphere.Notifier) Connection

// Reconciler keeps the Pool in step with VCenter objects and their Secrets. Every replica runs it with its own connections, and only the
// leader writes. All fields are required except Leader and those that can be nil.
type Reconciler struct {
	Client client.Client
	Pool   *Pool
	Groups Groups
	Dial   Dial
	Events events.EventRecorder
	// Namespace contains the Secrets.
	Namespace string
	Now       func() time.Time
	// Leader reports whether this replica leads and thus writes VCenters. Nil means that it always does. After a change of the answer, call
	// [Reconciler.LeadershipChanged].
	Leader sharding.Leader
	// Receipts identify VMs that were kept and are thus no orphans. It can be nil.
	Receipts Receipts
	// Members are asked whether the groups of empty folders exist. If it is nil, empty folders stay.
	Members Members

	changed chan event.TypedGenericEvent[wake]
	// orphans are VMs without a group, and released those that were kept.
	orphans, released orphans
	empty             emptyFolders
	// everyVCenter makes the controller check every VCenter.
	everyVCenter passes.All

	mu sync.Mutex
	// written is the time of the last write of each VCenter's status.
	written map[string]time.Time
	// writes are our own last writes of status, by VCenter.
	writes map[string]write
	// uids are the UIDs of the VCenters at their last check, by name.
	uids map[string]types.UID
	// leaving is when the deletion of each VCenter was first seen.
	leaving map[string]time.Time
	// reasons are those of condition Ready as this replica sees it, by VCenter.
	reasons map[string]string
	// doubts maps VCenters to the time since when the reason of their empty root folder is unknown.
	doubts map[string]time.Time
	// acceptances are the annotations that accept an empty inventory, by VCenter.
	acceptances map[string]acceptance
}

// SetupWithManager registers the controller and the pool with the hub's manager.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	// One slot per change is enough to wake the controller. A full buffer means that it is awake.
	r.changed = make(chan event.TypedGenericEvent[wake], 1024)
	r.everyVCenter = passes.NewAll()
	if err := mgr.Add(r.Pool); err != nil {
		return fmt.Errorf("register the connections with the manager: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("vcenter").
		For(&v1alpha1.VCenter{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.usersOf)).
		WatchesRawSource(source.TypedChannel(r.changed, handler.TypedFuncs[wake, reconcile.Request]{GenericFunc: enqueue})).
		WatchesRawSource(r.everyVCenter.Of(r.Client, &v1alpha1.VCenterList{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, NeedLeaderElection: new(bool)}).
		Complete(r)
}

// usersOf returns the VCenters that log in with a Secret.
func (r *Reconciler) usersOf(ctx context.Context, secret client.Object) []reconcile.Request {
	var vcenters v1alpha1.VCenterList
	if secret.GetNamespace() != r.Namespace || r.Client.List(ctx, &vcenters) != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, vc := range vcenters.Items {
		if vc.Spec.CredentialsSecretRef.Name == secret.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: vc.Name}})
		}
	}
	return requests
}

// Reconcile updates the connection of one VCenter. The leader also writes a changed status.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	vc := &v1alpha1.VCenter{}
	if err := r.Client.Get(ctx, req.NamespacedName, vc); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("read VCenter: %w", err)
	}
	r.recognize(vc)
	deleting := !vc.DeletionTimestamp.IsZero()
	inUse := ""
	if deleting {
		if inUse = r.inUse(ctx, vc); inUse == "" {
			return r.leave(ctx, vc)
		}
	}
	// A VCenter whose deletion waits gets a connection like any other, because the deletion needs one.
	if !deleting && !controllerutil.ContainsFinalizer(vc, v1alpha1.VCenterFinalizer) {
		if !r.leading() {
			// Without the finalizer, the VCenter could be deleted while VMs are being created.
			return reconcile.Result{RequeueAfter: soon}, nil
		}
		base := vc.DeepCopy()
		controllerutil.AddFinalizer(vc, v1alpha1.VCenterFinalizer)
		if err := r.Client.Patch(ctx, vc, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
			return reconcile.Result{}, fmt.Errorf("add the finalizer: %w", err)
		}
	}

	config, err := r.config(ctx, vc)
	var invalid *configError
	switch {
	case errors.As(err, &invalid):
		// A connection from the last valid configuration continues.
		if r.Pool.refuse(vc.Name, invalid) {
			r.Groups.VCenterChanged(vc.Name)
		}
		blocked := blockedStatus(vc, r.serving(vc.Name), invalid.reason, invalid.message, r.Now())
		if err := r.tellNeighbors(ctx, vc, &blocked); err != nil {
			return reconcile.Result{}, err
		}
		kstatus.Derive(&blocked.Conditions, r.Now())
		r.note(vc.Name, blocked)
		return reconcile.Result{RequeueAfter: lookInterval}, r.write(ctx, vc, blocked)
	case err != nil:
		return reconcile.Result{}, err
	}
	if err := r.withoutOthersRoot(ctx, vc, &config); err != nil {
		return reconcile.Result{}, err
	}
	dial := func() Connection { return r.Dial(config, notifier{r, vc.Name}) }
	if r.Pool.ensure(vc.Name, config, dial, func(uuid string) bool { return expectedInstance(vc, uuid) }) {
		r.Groups.VCenterChanged(vc.Name)
		r.look(vc.Name, 0)
	}
	l, after, err := r.lookAt(ctx, vc, config)
	if err != nil {
		return reconcile.Result{}, err
	}
	if l.doubtful {
		return reconcile.Result{RequeueAfter: after}, nil
	}
	next := newStatus(vc, l, r.Now())
	if err := r.tellNeighbors(ctx, vc, &next); err != nil {
		return reconcile.Result{}, err
	}
	if deleting {
		apply(&next, vc.Generation, r.Now(), []condition{{v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonInUse, inUse}})
	}
	kstatus.Derive(&next.Conditions, r.Now())
	r.note(vc.Name, next)
	if r.countsOnly(vc, next) {
		return reconcile.Result{RequeueAfter: after}, nil
	}
	return reconcile.Result{RequeueAfter: after}, r.write(ctx, vc, next)
}

// recognize drops the state of an earlier VCenter with this name. It was deleted, and this one created, between two checks.
func (r *Reconciler) recognize(vc *v1alpha1.VCenter) {
	r.mu.Lock()
	before, known := r.uids[vc.Name]
	r.mu.Unlock()
	if known && before != vc.UID {
		r.forget(vc.Name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uids == nil {
		r.uids = map[string]types.UID{}
	}
	r.uids[vc.Name] = vc.UID
	r.Groups.SetVCenter(vc.Name)
}

// forget drops the state of a VCenter, with its connections.
func (r *Reconciler) forget(name string) {
	r.Pool.remove(name)
	r.forgetAcceptance(name)
	r.forgetDoubt(name)
	r.orphans.forget(name)
	r.Groups.DeleteVCenter(name)
	r.released.forget(name)
	r.empty.forget(name)
	r.mu.Lock()
	delete(r.uids, name)
	delete(r.leaving, name)
	delete(r.reasons, name)
	delete(r.writes, name)
	delete(r.written, name)
	r.mu.Unlock()
	r.Groups.VCenterChanged(name)
}

// serving returns the state of the connection in use, if there is one.
func (r *Reconciler) serving(name string) (l look) {
	if current, _ := r.Pool.connections(name); current != nil {
		l.health, l.server = current.Health(), r.Pool.address(name)
	}
	return l
}

// lookAt collects the state of a VCenter's connections, and returns the time until the next check.
func (r *Reconciler) lookAt(ctx context.Context, vc *v1alpha1.VCenter, config Config) (l look, after time.Duration, err error) {
	current, candidate := r.Pool.connections(vc.Name)
	if candidate != nil {
		h := candidate.Health()
		l.candidate = &h
		l.another = h.Reachable && !expectedInstance(vc, h.InstanceUUID)
		l.health = h // the first connection's health, until it serves
	}
	after = lookInterval
	if current == nil || candidate != nil {
		after = soon // another connection is about to serve
	}
	if current != nil {
		current.SetLimits(config.Tasks, config.TasksPerHost)
		current.SetPredecessor(config.Predecessor)
		again, err := r.acceptEmpty(ctx, vc, current)
		if err != nil {
			return l, 0, err
		}
		if again > 0 {
			after = min(after, again)
		}
		if l.doubtful, err = r.explainEmpty(ctx, vc.Name, current); err != nil {
			return l, 0, err
		}
		if l.doubtful {
			after = soon
		}
		l.health, l.server = current.Health(), r.Pool.address(vc.Name)
		if l.health.Reachable && l.health.Complete {
			if l.orphans, l.released, l.decided, err = r.lookForOrphans(ctx, vc.Name, current); err != nil {
				return l, 0, err
			}
			if r.leading() {
				l.strays = current.Strays()
			}
			_, l.defaults = current.Placement(vsphere.Placement{})
			r.sweep(ctx, vc, current)
		}
	}
	return l, after, nil
}

// expectedInstance reports whether a vCenter is the one that holds the VCenter's VMs. Managed object references are invalid in another
// vCenter: every VM would look deleted there.
func expectedInstance(vc *v1alpha1.VCenter, uuid string) bool {
	known := vc.Status.InstanceUUID
	return known == "" || known == uuid || vc.Status.VMs == 0 || vc.Annotations[v1alpha1.AcceptInstanceAnnotation] == uuid
}

// countsOnly reports whether the write of next can wait: only counts differ, and the last write was recent. A decrease of the number of VMs to
// one or none never waits: after a restart, it decides about a sudden emptiness.
func (r *Reconciler) countsOnly(vc *v1alpha1.VCenter, next v1alpha1.VCenterStatus) bool {
	if next.VMs <= 1 && next.VMs < vc.Status.VMs {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	same := *vc.Status.DeepCopy()
	same.VMs, same.Templates, same.RunningTasks = next.VMs, next.Templates, next.RunningTasks
	if !equality.Semantic.DeepEqual(same, next) || r.Now().Sub(r.written[vc.Name]) >= lookInterval {
		if r.written == nil {
			r.written = map[string]time.Time{}
		}
		r.written[vc.Name] = r.Now()
		return false
	}
	return true
}

func (r *Reconciler) config(ctx context.Context, vc *v1alpha1.VCenter) (Config, error) {
	return ReadConfig(ctx, r.Client, r.Namespace, vc)
}

// write stores a changed status, and reports it. If the object is older than the last write,
// everything would seem to change again. After an outage of the hub the cache can be that old for half a minute, so write ignores such an
// object. A former leader's write causes a conflict with the object's version, and write ignores that conflict. Every pass is repeated anyway.
// A replica that does not lead writes nothing.
func (r *Reconciler) write(ctx context.Context, vc *v1alpha1.VCenter, next v1alpha1.VCenterStatus) error {
	if !r.leading() || r.stale(vc) || equality.Semantic.DeepEqual(vc.Status, next) {
		return nil
	}
	base := vc.DeepCopy()
	vc.Status = next
	err := r.Client.Status().Patch(ctx, vc, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	r.mu.Lock()
	if r.writes == nil {
		r.writes = map[string]write{}
	}
	r.writes[vc.Name] = write{vc.ResourceVersion, r.Now()}
	r.mu.Unlock()
	r.report(ctx, vc, base.Status.Conditions, next.Conditions)
	return nil
}

// passing are the reasons for which no person has to act on the VCenter: it connects, it is read, or its deletion waits for its groups and VMs.
var passing = map[string]bool{v1alpha1.ReasonConnecting: true, v1alpha1.ReasonInventoryIncomplete: true, v1alpha1.ReasonInUse: true}

// report writes changed conditions as events and in the log.
func (r *Reconciler) report(ctx context.Context, vc *v1alpha1.VCenter, old, next []metav1.Condition) {
	for _, conditionType := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionCredentialsValid} {
		was, is := meta.FindStatusCondition(old, conditionType), meta.FindStatusCondition(next, conditionType)
		if is == nil || (was != nil && was.Reason == is.Reason) || (was == nil && is.Status != metav1.ConditionFalse) {
			continue
		}
		if ready := meta.FindStatusCondition(next, v1alpha1.ConditionReady); conditionType != v1alpha1.ConditionReady && ready != nil && ready.Reason == is.Reason {
			continue // the line and the event of Ready have the same reason
		}
		eventType := corev1.EventTypeNormal
		if is.Status == metav1.ConditionFalse && !passing[is.Reason] {
			eventType = corev1.EventTypeWarning
		}
		if values := []any{"condition", conditionType, "status", is.Status, "reason", is.Reason}; eventType == corev1.EventTypeWarning {
			log.FromContext(ctx).Error(errors.New(is.Message), "VCenter changed", values...)
		} else {
			log.FromContext(ctx).Info("VCenter changed", append(values, "message", is.Message)...)
		}
		r.Events.Eventf(vc, nil, eventType, is.Reason, "Connect", "%s", is.Message)
	}
}

// write is one write of status.
type write struct {
	resourceVersion string
	at              time.Time
}

// catchesUp is the maximum delay of a cache behind our own write. An object that is older for longer was restored from a backup of the hub.
const catchesUp = time.Minute

// stale reports whether a VCenter is older than our last write of its status.
func (r *Reconciler) stale(vc *v1alpha1.VCenter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.writes[vc.Name]
	order, err := resourceversion.CompareResourceVersion(vc.ResourceVersion, last.resourceVersion)
	return err == nil && order < 0 && r.Now().Sub(last.at) < catchesUp
}

// notifier reports changes in one vCenter to the controllers.
type notifier struct {
	r    *Reconciler
	name string
}

// GroupChanged also wakes the VCenter's controller, because the number of VMs can have changed. The queue merges the wake-ups of a second, because each event of a
// VM comes here.
func (n notifier) GroupChanged(group vsphere.GroupKey) {
	n.r.Groups.GroupChanged(group)
	n.r.look(n.name, time.Second)
}

func (n notifier) ServerChanged() {
	n.r.Groups.VCenterChanged(n.name)
	n.r.look(n.name, 0)
}

// wake asks for a pass of a VCenter after a time.
type wake struct {
	vcenter string
	in      time.Duration
}

func enqueue(_ context.Context, e event.TypedGenericEvent[wake], q queue) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: e.Object.vcenter}}, e.Object.in)
}

// look wakes the controller for a VCenter. It does not block.
func (r *Reconciler) look(name string, in time.Duration) {
	select {
	case r.changed <- event.TypedGenericEvent[wake]{Object: wake{name, in}}:
	default:
	}
}
