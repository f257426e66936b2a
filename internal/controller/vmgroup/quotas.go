package vmgroup

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Quotas grants growth. *quota.Ledger implements it.
type Quotas interface {
	Ask(ctx context.Context, c quota.Claim) quota.Answer
	Surplus(key quota.Key, holds, wants policy.Usage) (needs policy.Usage, some bool)
	GiveBack(key quota.Key, needs policy.Usage, epoch v1alpha1.Epoch)
	Forget(key quota.Key)
	Check(ctx context.Context, r policy.Requester, old, next *v1alpha1.VmGroup) []policy.Violation
}

// quotaKey is what the ledger of quotas calls a group.
func quotaKey(s *group.Snapshot) quota.Key { return quota.Key{Member: s.Member, UID: s.Group.UID} }

// QuotaAnswered takes the news that a group may get another answer of the ledger of quotas.
func (r *Reconciler) QuotaAnswered(key quota.Key) {
	if member, ok := r.Members(key.Member); ok {
		r.Groups.GroupChanged(vsphere.KeyOf(member.UID, string(key.UID)))
	}
}

// QuotaLister is what the ledger of quotas asks about groups and policies. It reads memory.
func (r *Reconciler) QuotaLister() quota.Lister { return quotaLister{r} }

type quotaLister struct{ *Reconciler }

// Served implements quota.Lister.
func (w quotaLister) Served(member string) bool {
	_, engaged := w.Reconciler.Members(member)
	return engaged && w.Reconciler.Groups.listed(member)
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

// Groups implements quota.Lister.
func (w quotaLister) Groups(ctx context.Context) ([]quota.Group, error) {
	requesters, members := map[[2]string]policy.Requester{}, map[string]Member{}
	var groups []quota.Group
	for key, e := range w.Reconciler.Groups.all() {
		member, namespace := string(e.request.ClusterName), e.request.Namespace
		r, known := requesters[[2]string{member, namespace}]
		if !known {
			if !w.Served(member) {
				continue
			}
			members[member], _ = w.Reconciler.Members(member)
			var err error
			if r, err = w.Requester(ctx, member, namespace); err != nil {
				return nil, err
			}
			requesters[[2]string{member, namespace}] = r
		}
		holds := e.shows
		if record := w.record(members[member], key); record.Admitted != nil {
			holds = policy.UsageOf(policy.AdmittedSpec(v1alpha1.VmGroupSpec{}, *record.Admitted))
		}
		groups = append(groups, quota.Group{UID: types.UID(key.Group()), Name: e.request.Name, Requester: r, Holds: holds})
	}
	return groups, nil
}

// Absent reads afresh whether a member that is engaged does not have a group, and vCenter has nothing of it: VMs whose group lost its finalizer
// take what they took before. While one vCenter cannot be looked at nobody knows. It is for the ledger of quotas.
func (r *Reconciler) Absent(ctx context.Context, key quota.Key, namespace, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	member, engaged := r.Members(key.Member)
	if !engaged {
		return false, fmt.Errorf("member %q is not engaged", key.Member)
	}
	id := vsphere.GroupID{Installation: r.Installation, Member: member.UID, Group: string(key.UID)}
	path := vsphere.FolderPath{Member: key.Member, Namespace: namespace, Leaf: group.FolderName(name, key.UID)}
	if nothing, err := r.nothingLeft(ctx, id, path); err != nil || !nothing {
		return false, err
	}
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(key.Member))
	if err != nil {
		return false, fmt.Errorf("find the clients of member %q: %w", key.Member, err)
	}
	found := &v1alpha1.VmGroup{}
	err = cl.GetAPIReader().Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, found)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read VmGroup %s/%s of member %q: %w", namespace, name, key.Member, err)
	}
	return err != nil || found.UID != key.UID, nil
}

// nothingLeft reports whether every vCenter is known to have no VM of a group. It reads memory. In the folder at the group's path may be a VM that
// nobody can look into.
func (r *Reconciler) nothingLeft(ctx context.Context, id vsphere.GroupID, path vsphere.FolderPath) (bool, error) {
	var vcenters v1alpha1.VCenterList
	if err := r.Hub.List(ctx, &vcenters); err != nil {
		return false, fmt.Errorf("read VCenters from the hub: %w", err)
	}
	for i := range vcenters.Items {
		server, ok := r.Servers.Server(vcenters.Items[i].Name)
		if !ok {
			return false, nil
		}
		folder := server.Observe(vsphere.Query{ID: id, Path: path}).Folder.Ref
		seen := server.Observe(vsphere.Query{ID: id, Path: path, Folder: folder})
		if !seen.Complete || len(seen.Released)+len(seen.Unread)+len(seen.InFlight) > 0 ||
			slices.ContainsFunc(seen.VMs, func(vm vsphere.VM) bool { return vm.Stamp != nil && vm.Stamp.SameGroup(id) }) {
			return false, nil
		}
	}
	return true, nil
}
