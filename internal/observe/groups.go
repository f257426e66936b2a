package observe

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Served implements quota.Lister.
func (o *Sources) Served(member string) bool {
	_, engaged := o.Fleet.Member(member)
	return engaged && o.Fleet.Listed(member)
}

// Members implements quota.Lister.
func (o *Sources) Members(ctx context.Context) ([]string, error) {
	var list v1alpha1.MemberClusterList
	if err := o.Hub.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("read MemberClusters from the hub: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// space is a namespace of a member, for policies.
type space struct {
	member    fleet.Member
	requester policy.Requester
	// largest is the maximum usage of one group there: see policy.Set.Largest.
	largest policy.Usage
	// bound is true if any quota applies there.
	bound  bool
	groups []quota.Group
}

// Groups implements quota.Lister.
func (o *Observer) Groups(ctx context.Context) ([][]quota.Group, error) {
	set, err := o.policies.get(ctx, o.Hub)
	if err != nil {
		return nil, err
	}
	spaces := map[[2]string]*space{}
	for key, g := range o.Fleet.In(fleet.Scope{}) {
		name, namespace := g.Ref.Member, g.Ref.Namespace
		at, known := spaces[[2]string{name, namespace}]
		if !known {
			if !o.Served(name) {
				continue
			}
			at = &space{}
			at.member, _ = o.Fleet.Member(name)
			if at.requester, err = o.Requester(ctx, name, namespace); err != nil {
				return nil, err
			}
			at.largest, at.bound = set.Largest(at.requester), len(set.Quotas(at.requester)) > 0
			spaces[[2]string{name, namespace}] = at
		}
		of := quota.Group{UID: types.UID(key.Group()), Name: g.Ref.Name, Requester: at.requester, Holds: o.holds(at, key, &g)}
		if record := o.Record(at.member, key); record.Admitted != nil {
			of.Granted = group.Grants(recorded(*record.Admitted), g.Admits)
		}
		at.groups = append(at.groups, of)
	}
	groups := make([][]quota.Group, 0, len(spaces))
	for _, at := range spaces {
		groups = append(groups, at.groups)
	}
	return groups, nil
}

// holds returns the part of a group in the sums for other groups: the largest of the hub's record, the status, and the inventory of its vCenter. Each of them
// can be outdated. The status counts up to the largest possible group there, so that a made-up status cannot fill a total.
func (o *Observer) holds(at *space, key vsphere.GroupKey, g *fleet.Group) policy.Usage {
	holds := g.Shows.Min(at.largest)
	if !at.bound {
		return holds // it counts in no sum
	}
	if record := o.Record(at.member, key); record.Admitted != nil {
		holds = holds.Max(recorded(*record.Admitted))
	}
	if server, ok := o.Servers.Server(g.VCenter); ok {
		// For a VM to be destroyed, the holder has possibly seen its end and returned its usage before this replica sees that. Status shows such VMs.
		standing := slices.DeleteFunc(server.Marked(key), func(m vsphere.Marked) bool { return m.Tombstone })
		if stands := group.Stands(standing); stands.VMs > 0 {
			stands.Groups = 1
			holds = holds.Max(stands)
		}
	}
	return holds
}

// recorded returns the usage of a group according to the hub's record.
func recorded(a v1alpha1.Admitted) policy.Usage {
	return policy.UsageOf(policy.AdmittedSpec(v1alpha1.VmGroupSpec{}, a))
}
