package vmgroup

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Quotas is the ledger of quotas. *quota.Ledger implements it.
type Quotas interface {
	effect.Quotas
	Forget(key quota.Key)
	Check(ctx context.Context, r policy.Requester, old, next *v1alpha1.VmGroup) []policy.Violation
}

// QuotaAnswered takes the news that a group may get another answer of the ledger of quotas.
func (r *Reconciler) QuotaAnswered(key quota.Key) {
	if member, ok := r.Fleet.Member(key.Member); ok {
		r.Fleet.GroupChanged(vsphere.KeyOf(member.UID, string(key.UID)))
	}
}

// QuotaLister is what the ledger of quotas asks about groups and policies. It reads memory.
func (r *Reconciler) QuotaLister() quota.Lister { return quotaLister{r} }

type quotaLister struct{ *Reconciler }

// Served implements quota.Lister.
func (w quotaLister) Served(member string) bool {
	_, engaged := w.Fleet.Member(member)
	return engaged && w.Fleet.Listed(member)
}

// Members implements quota.Lister.
func (w quotaLister) Members(ctx context.Context) ([]string, error) {
	var list v1alpha1.MemberClusterList
	if err := w.Hub.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("read MemberClusters from the hub: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// space is a namespace of a member, as policies see it.
type space struct {
	member    fleet.Member
	requester policy.Requester
	// largest is what one group can have there: see policy.Set.Largest.
	largest policy.Usage
	// bound is true if any quota holds there.
	bound  bool
	groups []quota.Group
}

// Groups implements quota.Lister.
func (w quotaLister) Groups(ctx context.Context) ([][]quota.Group, error) {
	set, err := w.policies.get(ctx, w.Hub)
	if err != nil {
		return nil, err
	}
	spaces := map[[2]string]*space{}
	for key, g := range w.Fleet.In(fleet.Scope{}) {
		name, namespace := g.Ref.Member, g.Ref.Namespace
		at, known := spaces[[2]string{name, namespace}]
		if !known {
			if !w.Served(name) {
				continue
			}
			at = &space{}
			at.member, _ = w.Fleet.Member(name)
			if at.requester, err = w.Requester(ctx, name, namespace); err != nil {
				return nil, err
			}
			at.largest, at.bound = set.Largest(at.requester), len(set.Quotas(at.requester)) > 0
			spaces[[2]string{name, namespace}] = at
		}
		of := quota.Group{UID: types.UID(key.Group()), Name: g.Ref.Name, Requester: at.requester, Holds: w.holds(at, key, &g)}
		if record := w.record(at.member, key); record.Admitted != nil {
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

// holds is what a group counts with in the sums of others: the largest of what the hub has on record, what status shows, and what its vCenter shows, since each
// of them can be older than what exists. A status counts up to what one group can have there, so that one that was made up fills no total.
func (w quotaLister) holds(at *space, key vsphere.GroupKey, g *fleet.Group) policy.Usage {
	holds := g.Shows.Min(at.largest)
	if !at.bound {
		return holds // it counts in no sum
	}
	if record := w.record(at.member, key); record.Admitted != nil {
		holds = holds.Max(recorded(*record.Admitted))
	}
	if server, ok := w.Servers.Server(g.VCenter); ok {
		// The holder can have seen the end of a VM that is to be destroyed, and given back what it took, before this replica sees it. Status shows such VMs.
		standing := slices.DeleteFunc(server.Marked(key), func(m vsphere.Marked) bool { return m.Tombstone })
		if stands := group.Stands(standing); stands.VMs > 0 {
			stands.Groups = 1
			holds = holds.Max(stands)
		}
	}
	return holds
}

// recorded is what a group takes that the hub has on record.
func recorded(a v1alpha1.Admitted) policy.Usage {
	return policy.UsageOf(policy.AdmittedSpec(v1alpha1.VmGroupSpec{}, a))
}

// Left reads afresh whether a member that is engaged does not have a group, and what vCenter has of it still: VMs whose group lost its
// finalizer, and released ones, take what they took before. While one vCenter cannot be looked at nobody knows. It is for the ledger of quotas.
func (r *Reconciler) Left(ctx context.Context, key quota.Key, namespace, name string) (left policy.Usage, gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	member, engaged := r.Fleet.Member(key.Member)
	if !engaged {
		return left, false, fmt.Errorf("member %q is not engaged", key.Member)
	}
	id := vsphere.GroupID{Installation: r.Installation, Member: member.UID, Group: string(key.UID)}
	path := vsphere.FolderPath{Member: key.Member, Namespace: namespace, Leaf: group.FolderName(name, key.UID)}
	left, known, err := r.leftInVCenters(ctx, id, path)
	if err != nil || !known {
		return left, false, err
	}
	if name == "" { // only a release mark is known: nothing can be read by its name, and the cache decides
		_, exists := r.Fleet.Group(id.Key())
		return left, !exists && !member.Silent && r.Fleet.Listed(key.Member), nil
	}
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(key.Member))
	if err != nil {
		return left, false, fmt.Errorf("find the clients of member %q: %w", key.Member, err)
	}
	found, err := memberapi.Group(ctx, cl.GetAPIReader(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return left, false, fmt.Errorf("member %q: %w", key.Member, err)
	}
	return left, found == nil || found.UID != key.UID, nil
}

// leftInVCenters is what the VMs of a group take that vCenters have, if that is known and about to stay so. It reads memory. In the folder at the group's path may be a VM that
// nobody can look into.
func (r *Reconciler) leftInVCenters(ctx context.Context, id vsphere.GroupID, path vsphere.FolderPath) (left policy.Usage, known bool, err error) {
	var vcenters v1alpha1.VCenterList
	if err := r.Hub.List(ctx, &vcenters); err != nil {
		return left, false, fmt.Errorf("read VCenters from the hub: %w", err)
	}
	for i := range vcenters.Items {
		name := vcenters.Items[i].Name
		server, ok := r.Servers.Server(name)
		if !ok {
			return left, false, &quota.UnseenError{VCenter: name}
		}
		folder := server.Observe(vsphere.Query{ID: id, Path: path}).Folder.Ref
		seen := server.Observe(vsphere.Query{ID: id, Path: path, Folder: folder})
		switch {
		case !seen.Complete || seen.Undetermined():
			return left, false, &quota.UnseenError{VCenter: name}
		case len(seen.InFlight) > 0:
			return left, false, nil
		}
		// Another replica may have started clones for the group, and vCenter shows no stamp of a VM before its clone
		// has ended.
		switch clones, known := server.Clones(id.Key()); {
		case len(clones) > 0:
			return left, false, &quota.UnseenError{VCenter: name, Clones: clones}
		case !known:
			return left, false, nil
		}
		left = left.Add(group.Remains(id, &seen))
	}
	return left, true, nil
}
