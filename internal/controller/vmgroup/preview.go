package vmgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Preview says what a pass over the group would do now. It reads memory: it asks no vCenter and no API server, and changes
// nothing. The group need not exist; it is not kept and not changed.
func (r *Reconciler) Preview(ctx context.Context, member string, of *v1alpha1.VmGroup) (group.Preview, error) {
	m, ok := r.Fleet.Member(member)
	if !ok {
		return group.Preview{}, fmt.Errorf("member cluster %q is not connected", member)
	}
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return group.Preview{}, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	g := r.gatherer(cl, m, v1alpha1.Epoch{})
	g.violations = r.evaluate
	of = of.DeepCopy()
	of.Finalizers, of.Status.Ownership = []string{v1alpha1.VmGroupFinalizer}, nil
	s, err := g.gather(ctx, of)
	if err != nil {
		return group.Preview{}, err
	}
	return s.Preview(), nil
}

// evaluate is violations of a group that need not exist, or of a shape that it has no more, so that nothing of it is remembered.
func (r *Reconciler) evaluate(ctx context.Context, _ object, q policy.Requester, of *v1alpha1.VmGroup, t template) ([]policy.Violation, error) {
	set, err := r.policies.get(ctx, r.Hub)
	if err != nil {
		return nil, err
	}
	return withOthers(set, q, of, t, set.Evaluate(q, of.Spec, t.path)), nil
}
