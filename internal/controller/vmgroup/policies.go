package vmgroup

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vmgrouppolicies,verbs=list;watch

// policyCache holds the policies of the hub, compiled once for each change. The zero value is ready to use.
type policyCache struct {
	mu  sync.Mutex
	set *policy.Set
	// verdicts are what was found of groups, so that a pass over one that did not change evaluates nothing.
	verdicts map[types.UID]verdict
}

// verdict is an evaluation and all that it depends on.
type verdict struct {
	set        *policy.Set
	asked      question
	labels     map[string]string
	violations []policy.Violation
}

// question is what an evaluation looks at, besides labels.
type question struct {
	member, namespace, template, path string
	cpu, memory, replicas             int32
	counted                           bool
}

// changed makes the next reader compile the policies anew.
func (c *policyCache) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = nil
}

// get returns the compiled policies of the hub's cache.
func (c *policyCache) get(ctx context.Context, hub client.Reader) (*policy.Set, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set != nil {
		return c.set, nil
	}
	var list v1alpha1.VmGroupPolicyList
	if err := hub.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("read VmGroupPolicies from the hub: %w", err)
	}
	c.set = policy.Compile(list.Items)
	return c.set, nil
}

// evaluate is set.Evaluate, remembered by group.
func (c *policyCache) evaluate(set *policy.Set, uid types.UID, r policy.Requester, spec *v1alpha1.VmGroupSpec, path string) []policy.Violation {
	asked := question{
		member: r.Member, namespace: r.Namespace, template: spec.Template, path: path,
		cpu: spec.CPU, memory: spec.Memory, counted: spec.Replicas != nil,
	}
	if asked.counted {
		asked.replicas = *spec.Replicas
	}
	c.mu.Lock()
	v, ok := c.verdicts[uid]
	c.mu.Unlock()
	if ok && v.set == set && v.asked == asked && maps.Equal(v.labels, r.NamespaceLabels) {
		return v.violations
	}
	v = verdict{set: set, asked: asked, labels: r.NamespaceLabels, violations: set.Evaluate(r, *spec, path)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verdicts == nil {
		c.verdicts = map[types.UID]verdict{}
	}
	c.verdicts[uid] = v
	return v.violations
}

func (c *policyCache) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.verdicts, uid)
}

// policiesPatience bounds the wait for the hub's cache, which is filled before the controllers run.
const policiesPatience = time.Second

// Policies returns the compiled policies, or false while they have not been read. It reads memory.
func (r *Reconciler) Policies() (*policy.Set, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), policiesPatience)
	defer cancel()
	set, err := r.policies.get(ctx, r.Hub)
	return set, err == nil
}

// Requester returns a namespace of a member as policies and grants see it, from the member's cache. A namespace that the
// cache does not have has no labels.
func (r *Reconciler) Requester(ctx context.Context, member, namespace string) (policy.Requester, error) {
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return policy.Requester{}, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	return requesterOf(ctx, cl.GetClient(), member, namespace)
}

func requesterOf(ctx context.Context, reader client.Reader, member, namespace string) (policy.Requester, error) {
	r, _, err := lookUpRequester(ctx, reader, member, namespace)
	return r, err
}

// lookUpRequester also says whether the cache does not have the namespace: it is filled by another watch than that of
// groups, and may be behind.
func lookUpRequester(ctx context.Context, reader client.Reader, member, namespace string) (r policy.Requester, stranger bool, err error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err = reader.Get(ctx, types.NamespacedName{Name: namespace}, object)
	if client.IgnoreNotFound(err) != nil {
		return policy.Requester{}, false, fmt.Errorf("read namespace %q of member %q: %w", namespace, member, err)
	}
	return policy.Requester{Member: member, Namespace: namespace, NamespaceLabels: object.Labels}, err != nil, nil
}

// Group returns a group from the cache of a member. The error is one that apierrors.IsNotFound knows when the cache does
// not have it.
func (r *Reconciler) Group(ctx context.Context, member, namespace, name string) (*v1alpha1.VmGroup, error) {
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return nil, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	group := &v1alpha1.VmGroup{}
	if err := cl.GetClient().Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, group); err != nil {
		return nil, fmt.Errorf("read VmGroup %s/%s of member %q: %w", namespace, name, member, err)
	}
	return group, nil
}
