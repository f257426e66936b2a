package member

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
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// conflictInterval is the time until the next pass after one that wrote an object that another client had changed.
const conflictInterval = time.Second

// Reconciler turns MemberClusters into targets of the Provider, and its observations into status. It reads
// the hub's cache and never waits for a member. On a replica that does not lead it writes nothing.
type Reconciler struct {
	client client.Client
	// live reads the hub's API server. It is used before a member is left, which cannot be undone.
	live     client.Reader
	recorder events.EventRecorder
	provider *link.Provider

	pins   *join.Pins
	parsed parsed

	mu        sync.Mutex
	seeded    bool                 // from all MemberClusters, before the first connection to a member
	countsAt  map[string]time.Time // when a member's counts were last written
	standings map[string]standing
}

// New returns a controller over the members of provider that reads the hub with its cached client, and the hub's API server
// with live. recorder writes the hub's events.
func New(hub client.Client, live client.Reader, recorder events.EventRecorder, provider *link.Provider) *Reconciler {
	provider.StoreTokens(renewal.NewStore(hub, provider.Options().Namespace))
	return &Reconciler{
		client: hub, live: live, recorder: recorder, provider: provider,
		pins:     join.NewPins(hub, live, provider.Options().Namespace, provider, recorder, provider.Options().Now),
		countsAt: map[string]time.Time{}, standings: map[string]standing{},
	}
}

// Reconcile implements reconcile.Reconciler. A conflict is no error: the cache is behind a change of an object.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.pass(ctx, request)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictInterval}, nil
	}
	return result, err
}

func (r *Reconciler) pass(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if err := r.seed(ctx); err != nil {
		return reconcile.Result{}, err
	}
	mc := &v1alpha1.MemberCluster{}
	if err := r.client.Get(ctx, request.NamespacedName, mc); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	leading := r.provider.Leading()
	clusterUID, refused, pinErr := join.Granted(mc), (*remote.Problem)(nil), error(nil)
	if leading {
		clusterUID, refused, pinErr = r.pins.Pin(ctx, mc)
		if pinErr != nil && clusterUID == "" {
			return reconcile.Result{}, pinErr
		}
	}
	r.provider.Seed(mc.Name, join.IdentityOf(mc, clusterUID))
	credentials, failed, err := r.credentials(ctx, mc)
	if err != nil {
		return reconcile.Result{}, err
	}
	wanted := targetOf(mc, clusterUID, credentials)
	if !mc.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.leave(ctx, mc, wanted, leading)
	}
	if failed != nil {
		r.provider.Stop(mc.Name)
	} else {
		// The finalizer comes first: after the claim there is something to clean up.
		if leading {
			if err := r.addFinalizer(ctx, mc); err != nil {
				return reconcile.Result{}, err
			}
		}
		r.provider.Ensure(wanted, leading)
	}
	r.note(mc, failed, credentials.held)
	if !leading {
		return reconcile.Result{}, nil
	}
	if failed == nil {
		failed = refused
	}
	result, err := r.writeStatus(ctx, mc, clusterUID, failed, credentials.held)
	r.note(mc, failed, credentials.held)
	return result, errors.Join(pinErr, err)
}

// seed passes the cluster of each MemberCluster to the Provider once, from the cache.
func (r *Reconciler) seed(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seeded {
		return nil
	}
	list := &v1alpha1.MemberClusterList{}
	if err := r.client.List(ctx, list); err != nil {
		return fmt.Errorf("list MemberClusters: %w", err)
	}
	for i := range list.Items {
		mc := &list.Items[i]
		r.provider.Seed(mc.Name, join.IdentityOf(mc, join.Granted(mc)))
	}
	r.seeded = true
	return nil
}

func (r *Reconciler) forget(name string) {
	r.provider.Forget(name)
	r.provider.Options().Fleet.DeleteMember(name)
	r.pins.Forget(name)
	r.parsed.forget(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.countsAt, name)
	delete(r.standings, name)
}

func (r *Reconciler) addFinalizer(ctx context.Context, mc *v1alpha1.MemberCluster) error {
	base := mc.DeepCopy()
	if !controllerutil.AddFinalizer(mc, v1alpha1.MemberClusterFinalizer) {
		return nil
	}
	if err := r.client.Patch(ctx, mc, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// leave removes the finalizer of a deleted MemberCluster once the member is disengaged and the claim is released, or could
// not be within its time. A replica that does not lead only disengages it.
func (r *Reconciler) leave(ctx context.Context, mc *v1alpha1.MemberCluster, wanted settings.Target, leading bool) error {
	if !controllerutil.ContainsFinalizer(mc, v1alpha1.MemberClusterFinalizer) {
		r.forget(mc.Name)
		return nil
	}
	if !leading {
		r.provider.Stop(mc.Name)
		return nil
	}
	if left, err := r.hasLeft(ctx, mc); left || err != nil {
		return err // the event of its end follows
	}
	done, how := r.provider.Leave(wanted)
	if !done {
		return nil // its end triggers another pass
	}
	// No renewal runs any more. While the finalizer stays, a failure is tried again.
	if err := r.provider.Options().Tokens.Drop(ctx, mc.Name); err != nil {
		return err
	}
	if how.Cleaned {
		r.recorder.Eventf(mc, nil, corev1.EventTypeNormal, v1alpha1.EventLeft, "Leave", "The member was left; %d VmGroups were released. They "+
			"and their VMs stay as they are: the operator's finalizer was removed, so deleting a group does not delete VMs.", how.LetGo)
	}
	if how.LeftBehind != "" {
		r.recorder.Eventf(mc, nil, corev1.EventTypeWarning, v1alpha1.EventLeftBehind, "Leave", "%s", how.LeftBehind)
	}
	base := mc.DeepCopy()
	controllerutil.RemoveFinalizer(mc, v1alpha1.MemberClusterFinalizer)
	err := r.client.Patch(ctx, mc, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	r.forget(mc.Name)
	return nil
}

// hasLeft reports whether the cache is outdated and mc was already left, by this replica or by an earlier leader. Leaving
// again would create an ownerless claim on the member.
func (r *Reconciler) hasLeft(ctx context.Context, mc *v1alpha1.MemberCluster) (bool, error) {
	now := &v1alpha1.MemberCluster{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(mc), now); err != nil {
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, fmt.Errorf("see whether the member was left: %w", err)
	}
	return now.UID != mc.UID || !controllerutil.ContainsFinalizer(now, v1alpha1.MemberClusterFinalizer), nil
}

// writeStatus patches status if it changed, and records an event if Ready did.
func (r *Reconciler) writeStatus(ctx context.Context, mc *v1alpha1.MemberCluster, clusterUID string, failed *remote.Problem, held []credential.Held) (reconcile.Result, error) {
	opts := r.provider.Options()
	now := opts.Now()
	seen := r.provider.Observe(mc.Name)
	due, again := r.countsDue(mc, seen, now)
	problem, allowedAt := allowanceProblem(mc, now)
	found, undecided := orphansOf(opts.Fleet, &mc.Status, mc.Name)
	status, transition := computeStatus(statusInput{
		name: mc.Name, held: held, orphaned: found, allowanceProblem: problem, generation: mc.Generation, previous: mc.Status, clusterUID: clusterUID, config: failed, seen: seen, counts: due, now: now,
		admission: r.provider.Options().Renderer != nil, caBundle: r.caBundle(mc),
	})
	for _, left := range []time.Duration{restoredLeft(&status, now), allowedAt.Sub(now), undecided, credential.Changes(held, now).Sub(now)} {
		if left > 0 && (again == 0 || left < again) {
			again = left
		}
	}
	result := reconcile.Result{RequeueAfter: again}
	if equality.Semantic.DeepEqual(status, mc.Status) {
		return result, nil
	}
	base := mc.DeepCopy()
	mc.Status = status
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, mc, patch); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return result, nil // the cache is outdated; the missing event triggers another pass
		}
		return reconcile.Result{}, fmt.Errorf("write status: %w", err)
	}
	if due != nil {
		r.mu.Lock()
		r.countsAt[mc.Name] = now
		r.mu.Unlock()
	}
	if transition {
		r.recordReady(mc)
	}
	r.recordRestore(base, mc)
	return result, nil
}

// caBundle is the hash of the CA bundle that the member should have.
func (r *Reconciler) caBundle(mc *v1alpha1.MemberCluster) string {
	if r.provider.Options().Renderer == nil {
		return ""
	}
	is := admissionSettingsOf(&mc.Spec)
	return r.provider.Options().Renderer.CABundleHash(install.Target{
		Name: mc.Name, UID: mc.UID, URL: is.URL, FailurePolicy: is.FailurePolicy,
	})
}

func (r *Reconciler) recordReady(mc *v1alpha1.MemberCluster) {
	ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	eventType := corev1.EventTypeWarning
	switch ready.Status {
	case metav1.ConditionUnknown:
		return // connecting is no news; its result is
	case metav1.ConditionTrue:
		eventType = corev1.EventTypeNormal
	}
	r.recorder.Eventf(mc, nil, eventType, ready.Reason, "Connect", "%s", ready.Message)
}

// recordRestore reports a restore that status did not have yet.
func (r *Reconciler) recordRestore(before, after *v1alpha1.MemberCluster) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionStorageRestored)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionStorageRestored)
	if is != nil && (was == nil || was.Message != is.Message) {
		r.recorder.Eventf(after, nil, corev1.EventTypeWarning, v1alpha1.ConditionStorageRestored, "Connect", "%s", is.Message)
	}
}

// countsDue returns the counts to write now, or when to check again. They are written when they changed, and at most every
// Timings.Counts, counted from the engagement on: until then they still grow from zero.
func (r *Reconciler) countsDue(mc *v1alpha1.MemberCluster, seen link.Observation, now time.Time) (*counts, time.Duration) {
	opts := r.provider.Options()
	if !seen.State.Serves() {
		return nil, 0
	}
	r.mu.Lock()
	written := r.countsAt[mc.Name]
	r.mu.Unlock()
	if written.Before(seen.EngagedAt) {
		written = seen.EngagedAt
	}
	if wait := written.Add(opts.Timings.Counts).Sub(now); wait > 0 {
		return nil, wait
	}
	tally, s := opts.Fleet.Tally(mc.Name), &mc.Status
	is := counts{groups: tally.Groups, vms: tally.VMs}
	is.held(mc.Name, tally.Held)
	if is == (counts{int(s.Groups), int(s.VMs), int(s.HeldGroups), int(s.HeldVMs), sweptMessage(s)}) {
		return nil, 0
	}
	return &is, 0
}
