package observe

import (
	"context"
	"fmt"

	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// Preview returns what a reconcile of the group would do now. It reads memory: it calls no vCenter and no API server, and
// changes nothing. The group does not have to exist; Preview does not keep or change it.
func (o *Observer) Preview(ctx context.Context, member string, of *v1alpha1.VmGroup) (group.Preview, error) {
	m, ok := o.Fleet.Member(member)
	if !ok {
		return group.Preview{}, fmt.Errorf("member cluster %q is not connected", member)
	}
	cl, err := o.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return group.Preview{}, fmt.Errorf("find the clients of member %q: %w", member, err)
	}
	of = of.DeepCopy()
	of.Finalizers, of.Status.Ownership = []string{v1alpha1.VmGroupFinalizer}, nil
	g := gatherer{Observer: o, View: View{Member: m, Cache: cl.GetClient(), Now: o.Now()}, foretells: true}
	s, err := g.gather(ctx, of)
	if err != nil {
		return group.Preview{}, err
	}
	return s.Preview(), nil
}
