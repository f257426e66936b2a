package policy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/passes"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vmgrouppolicies,verbs=list;watch
// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vmgrouppolicies/status,verbs=patch

const (
	// countInterval is how often groups are counted without a known change.
	countInterval = 10 * time.Second
	// shortest is the minimum time between two counts.
	shortest = 2 * time.Second
)

// Evaluator evaluates policies. *observe.Reviewer implements it.
type Evaluator interface {
	// EvaluateAll calls yield for every known group, with its requester and the violations of its spec against the policies of set. It reads memory.
	EvaluateAll(ctx context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error
}

// Reconciler writes the status of VmGroupPolicies. All fields but Leader are required.
type Reconciler struct {
	Client    client.Client
	Evaluator Evaluator
	Now       func() time.Time
	// Leader reports whether this replica leads; nil means always.
	Leader sharding.Leader

	// recount triggers a count.
	recount passes.All

	mu      sync.Mutex
	counted time.Time
	// last has the last counts, by policy.
	last map[string]tally
}

// SetupWithManager registers the controller with the hub's manager.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	r.recount = passes.NewAll()
	return ctrl.NewControllerManagedBy(mgr).
		Named("vmgrouppolicy").
		Watches(&v1alpha1.VmGroupPolicy{}, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
			return []reconcile.Request{all}
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.recount.As(all)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, NeedLeaderElection: new(bool)}).
		Complete(r)
}

// all is the request to count for all policies.
var all reconcile.Request

// LeadershipChanged notifies the Reconciler that the result of Leader changed. It does not block; call it after SetupWithManager.
func (r *Reconciler) LeadershipChanged() { r.recount.Ask() }

// Reconcile counts groups for all policies and writes changed statuses.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if r.Leader != nil && !r.Leader.Leading() {
		return reconcile.Result{}, nil
	}
	if wait := r.wait(); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	var list v1alpha1.VmGroupPolicyList
	if err := r.Client.List(ctx, &list); err != nil {
		return reconcile.Result{}, fmt.Errorf("list VmGroupPolicies: %w", err)
	}
	if len(list.Items) == 0 {
		r.keep(nil)
		return reconcile.Result{}, nil // the first policy triggers the next count
	}
	set := policy.Compile(list.Items)
	counts, err := count(ctx, set, r.Evaluator)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.keep(counts)
	compiled := map[string]*policy.Policy{}
	for _, p := range set.Policies() {
		compiled[p.Name()] = p
	}
	for i := range list.Items {
		p := &list.Items[i]
		base := p.DeepCopy()
		p.Status = newStatus(p, compiled[p.Name], counts[p.Name], r.Now())
		if equality.Semantic.DeepEqual(base.Status, p.Status) {
			continue
		}
		if err := r.Client.Status().Patch(ctx, p, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("write the status of VmGroupPolicy %q: %w", p.Name, err)
		}
	}
	return reconcile.Result{RequeueAfter: countInterval}, nil
}

// wait returns the time until the next count, and starts the count if that time is 0.
func (r *Reconciler) wait() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if wait := r.counted.Add(shortest).Sub(now); wait > 0 {
		return wait
	}
	r.counted = now
	return 0
}
