package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// +kubebuilder:rbac:groups=vm.codeconnect.vmworld.com,resources=vmgrouppolicies,verbs=list;watch

// policyCache holds the policies of the hub, compiled once for each change. The zero value is ready to use.
type policyCache struct {
	mu  sync.Mutex
	set *policy.Set
}

// changed makes the next reader compile the policies anew.
func (c *policyCache) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = nil
}

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

// violations returns the violations of the hub's policies by a group's spec. It remembers those of an existing group.
func (g *gatherer) violations(ctx context.Context, s *group.Snapshot, of *v1alpha1.VmGroup, t template) ([]policy.Violation, error) {
	if g.foretells || g.Memory == nil {
		return g.judge(ctx, s, of, t)
	}
	set, err := g.policies.get(ctx, g.Hub)
	if err != nil {
		return nil, err
	}
	return withOthers(set, s.Requester, of, t, g.Memory.Evaluate(set, s.ID.Key(), of, s.Requester, t.path)), nil
}

// judge returns the violations without remembering them: the group possibly does not exist, or does not have the spec any more.
func (g *gatherer) judge(ctx context.Context, s *group.Snapshot, of *v1alpha1.VmGroup, t template) ([]policy.Violation, error) {
	set, err := g.policies.get(ctx, g.Hub)
	if err != nil {
		return nil, err
	}
	return withOthers(set, s.Requester, of, t, set.Evaluate(s.Requester, of.Spec, t.path)), nil
}

// withOthers adds violations about a template that does not exist, and about VMs that are to be left behind.
func withOthers(set *policy.Set, q policy.Requester, of *v1alpha1.VmGroup, t template, found []policy.Violation) []policy.Violation {
	if t.missing {
		refused, kept := set.MissingTemplate(q, nil, of.Spec, group.VCenterOf(of))
		found = slices.Concat(found, refused, kept)
	}
	if refused, kept := set.Retained(q, nil, of.Spec); len(refused)+len(kept) > 0 {
		found = slices.Concat(found, refused, kept)
	}
	return found
}

// policiesPatience limits the wait for the hub's cache, which is filled before the controllers run.
const policiesPatience = time.Second

// PoliciesChanged makes the next reader compile the policies of the hub anew.
func (o *Sources) PoliciesChanged() { o.policies.changed() }

// Policies returns the compiled policies, or false until they have been read. It reads memory.
func (o *Sources) Policies(ctx context.Context) (*policy.Set, bool) {
	ctx, cancel := context.WithTimeout(ctx, policiesPatience)
	defer cancel()
	set, err := o.policies.get(ctx, o.Hub)
	return set, err == nil
}

// Requester returns a namespace of a member in the form that policies and grants use, from the member's cache. A namespace that the cache does not have has
// no labels.
func (o *Sources) Requester(ctx context.Context, member, namespace string) (policy.Requester, error) {
	cl, err := o.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return policy.Requester{}, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	return requesterOf(ctx, cl.GetClient(), member, namespace)
}

func requesterOf(ctx context.Context, reader client.Reader, member, namespace string) (policy.Requester, error) {
	object, err := lookUpNamespace(ctx, reader, member, namespace)
	return policy.Requester{Member: member, Namespace: namespace, NamespaceLabels: object.Labels}, client.IgnoreNotFound(err)
}

// lookUpNamespace reads a namespace from the cache. If the cache does not have it, apierrors.IsNotFound is true for the error: another watch than that of
// groups fills the cache, and it can be behind. Callers must not change the labels and annotations, which belong to the cache. Quota claims wait with the
// labels, and a copy for each group of a namespace with 240,000 of them would need gigabytes.
func lookUpNamespace(ctx context.Context, reader client.Reader, member, namespace string) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, types.NamespacedName{Name: namespace}, object, client.UnsafeDisableDeepCopy); err != nil {
		return object, fmt.Errorf("read namespace %q of member %q: %w", namespace, member, err)
	}
	return object, nil
}

// Group returns a group from the cache of a member. If the cache does not have it, apierrors.IsNotFound is true for the error.
func (o *Sources) Group(ctx context.Context, member, namespace, name string) (*v1alpha1.VmGroup, error) {
	cl, err := o.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return nil, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	group := &v1alpha1.VmGroup{}
	if err := cl.GetClient().Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, group); err != nil {
		return nil, fmt.Errorf("read VmGroup %s/%s of member %q: %w", namespace, name, member, err)
	}
	return group, nil
}
