package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// defaultKubeconfigKey is the schema's default of spec.kubeconfigSecretRef.key.
const defaultKubeconfigKey = "kubeconfig"

// reconciler turns MemberClusters into targets of the Provider, and its observations into status. It reads
// the hub's cache and writes to the hub; it never waits for a member.
type reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	provider *Provider

	mu       sync.Mutex
	seeded   bool
	countsAt map[string]time.Time // when a member's counts were last written
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
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
	config, fingerprint, failed, err := r.kubeconfig(ctx, mc)
	if err != nil {
		return reconcile.Result{}, err
	}
	wanted := target{
		name:        mc.Name,
		created:     mc.CreationTimestamp.Time,
		fingerprint: fmt.Sprintf("%s/%s/%s", mc.UID, mc.Spec.Manage, fingerprint),
		config:      config,
		manage:      mc.Spec.Manage,
		settings:    settings{paused: mc.Spec.Paused, userDataSecrets: mc.Spec.UserDataSecrets},
	}
	if !mc.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.leave(ctx, mc, wanted)
	}
	if failed != nil {
		r.provider.stop(mc.Name)
	} else {
		// The finalizer comes first: from the claim on there is something to clean up.
		if err := r.addFinalizer(ctx, mc); err != nil {
			return reconcile.Result{}, err
		}
		r.provider.ensure(wanted)
	}
	return r.writeStatus(ctx, mc, failed)
}

// seed tells the Provider once which cluster each MemberCluster was, from the statuses in the cache.
func (r *reconciler) seed(ctx context.Context) error {
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
		r.provider.seed(mc.Name, identity{mc.Status.ClusterUID, mc.CreationTimestamp.Time})
	}
	r.seeded = true
	return nil
}

func (r *reconciler) forget(name string) {
	r.provider.forget(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.countsAt, name)
}

// kubeconfig returns the configuration that reaches the member and a fingerprint of its content, or the
// problem with it.
func (r *reconciler) kubeconfig(ctx context.Context, mc *v1alpha1.MemberCluster) (*rest.Config, string, *problem, error) {
	opts := &r.provider.opts
	if mc.Name == v1alpha1.LocalMember {
		if !opts.Local && mc.DeletionTimestamp.IsZero() {
			return nil, "", &problem{reason: v1alpha1.ReasonLocalDisabled, lasting: true,
				message: "The hub itself is not served: the manager runs without --enable-local-member."}, nil
		}
		return opts.HubConfig, "hub", nil, nil
	}
	ref := mc.Spec.KubeconfigSecretRef
	if ref == nil {
		return nil, "", &problem{reason: v1alpha1.ReasonKubeconfigNotFound, lasting: true,
			message: "spec.kubeconfigSecretRef is missing."}, nil
	}
	key := ref.Key
	if key == "" {
		key = defaultKubeconfigKey
	}
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, types.NamespacedName{Namespace: opts.Namespace, Name: ref.Name}, secret); err != nil {
		if !apierrors.IsNotFound(err) {
			return nil, "", nil, fmt.Errorf("read Secret %q: %w", ref.Name, err)
		}
		return nil, "", &problem{reason: v1alpha1.ReasonKubeconfigNotFound, lasting: true, message: fmt.Sprintf(
			"There is no Secret %q in namespace %q. Create it; it is picked up at once.", ref.Name, opts.Namespace)}, nil
	}
	content, ok := secret.Data[key]
	if !ok {
		return nil, "", &problem{reason: v1alpha1.ReasonKubeconfigNotFound, lasting: true, message: fmt.Sprintf(
			"Secret %q in namespace %q has no key %q.", ref.Name, opts.Namespace, key)}, nil
	}
	config, err := ParseKubeconfig(content)
	if refusal, is := refused(err); is {
		return nil, "", &problem{reason: v1alpha1.ReasonKubeconfigRefused, lasting: true, message: fmt.Sprintf(
			"Secret %q, key %q: %s.", ref.Name, key, refusal.Error())}, nil
	}
	if err != nil {
		return nil, "", nil, err
	}
	sum := sha256.Sum256(content)
	return config, hex.EncodeToString(sum[:]), nil, nil
}

func (r *reconciler) addFinalizer(ctx context.Context, mc *v1alpha1.MemberCluster) error {
	base := mc.DeepCopy()
	if !controllerutil.AddFinalizer(mc, v1alpha1.MemberClusterFinalizer) {
		return nil
	}
	if err := r.client.Patch(ctx, mc, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// leave lets a deleted MemberCluster go once the member is disengaged and the claim is released, or could
// not be within its time.
func (r *reconciler) leave(ctx context.Context, mc *v1alpha1.MemberCluster, wanted target) error {
	if !controllerutil.ContainsFinalizer(mc, v1alpha1.MemberClusterFinalizer) {
		r.forget(mc.Name)
		return nil
	}
	done, leftBehind := r.provider.leave(wanted)
	if !done {
		return nil // its end wakes us
	}
	if leftBehind != "" {
		r.recorder.Eventf(mc, nil, corev1.EventTypeWarning, "LeftBehind", "Leave", "%s", leftBehind)
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

// writeStatus patches status if it changed, and records an event if Ready did.
func (r *reconciler) writeStatus(ctx context.Context, mc *v1alpha1.MemberCluster, failed *problem) (reconcile.Result, error) {
	opts := &r.provider.opts
	now := opts.Now()
	seen, _ := r.provider.observe(mc.Name)
	due, again := r.countsDue(mc, seen, now)
	status, transition := computeStatus(statusInput{
		generation: mc.Generation, previous: mc.Status, config: failed, seen: seen, counts: due, now: now,
	})
	result := reconcile.Result{RequeueAfter: again}
	if equality.Semantic.DeepEqual(status, mc.Status) {
		return result, nil
	}
	base := mc.DeepCopy()
	mc.Status = status
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, mc, patch); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return result, nil // the cache is behind; what it misses will bring us here again
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
	return result, nil
}

func (r *reconciler) recordReady(mc *v1alpha1.MemberCluster) {
	ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	eventType := corev1.EventTypeWarning
	switch ready.Status {
	case metav1.ConditionUnknown:
		return // connecting is no news; what it ends with is
	case metav1.ConditionTrue:
		eventType = corev1.EventTypeNormal
	}
	r.recorder.Eventf(mc, nil, eventType, ready.Reason, "Connect", "%s", ready.Message)
}

// countsDue returns the counts to write now, or when to look again. They are written when they changed, and
// at most every Timings.Counts, counted from the engagement on: until then they still grow from zero.
func (r *reconciler) countsDue(mc *v1alpha1.MemberCluster, seen observation, now time.Time) (*counts, time.Duration) {
	opts := &r.provider.opts
	if opts.Counts == nil || seen.phase != phaseEngaged {
		return nil, 0
	}
	groups, vms := opts.Counts(mc.Name)
	if int32(groups) == mc.Status.Groups && int32(vms) == mc.Status.VMs {
		return nil, 0
	}
	r.mu.Lock()
	last := r.countsAt[mc.Name]
	r.mu.Unlock()
	if last.Before(seen.engagedAt) {
		last = seen.engagedAt
	}
	if wait := last.Add(opts.Timings.Counts).Sub(now); wait > 0 {
		return nil, wait
	}
	return &counts{groups, vms}, 0
}
