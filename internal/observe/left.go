package observe

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// QuotaAnswered implements quota.Listener.
func (o *Sources) QuotaAnswered(key quota.Key) {
	if member, ok := o.Fleet.Member(key.Member); ok {
		o.Fleet.GroupChanged(vsphere.KeyOf(member.UID, string(key.UID)))
	}
}

// Left implements quota.Inspector. VMs whose group lost its finalizer, and released VMs, keep their usage. If the operator cannot read one vCenter, the result
// is unknown.
func (o *Sources) Left(ctx context.Context, key quota.Key, namespace, name string) (left policy.Usage, gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	member, engaged := o.Fleet.Member(key.Member)
	if !engaged {
		return left, false, fmt.Errorf("member %q is not engaged", key.Member)
	}
	id := vsphere.GroupID{Installation: o.Installation, Member: member.UID, Group: string(key.UID)}
	path := vsphere.FolderPath{Member: key.Member, Namespace: namespace, Leaf: group.FolderName(name, key.UID)}
	left, known, err := o.leftInVCenters(ctx, id, path)
	if err != nil || !known {
		return left, false, err
	}
	if name == "" { // only a release mark is known: without a name, the group cannot be read, and the cache decides
		_, exists := o.Fleet.Group(id.Key())
		return left, !exists && !member.Silent && o.Fleet.Listed(key.Member), nil
	}
	cl, err := o.Clusters.GetCluster(ctx, multicluster.ClusterName(key.Member))
	if err != nil {
		return left, false, fmt.Errorf("find the clients of member %q: %w", key.Member, err)
	}
	found, err := memberapi.Group(ctx, cl.GetAPIReader(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return left, false, fmt.Errorf("member %q: %w", key.Member, err)
	}
	return left, found == nil || found.UID != key.UID, nil
}

// leftInVCenters returns the usage of a group's VMs in vCenters, if it is known and stable. It reads memory. The folder at the group's path can contain a VM
// that the operator cannot read.
func (o *Sources) leftInVCenters(ctx context.Context, id vsphere.GroupID, path vsphere.FolderPath) (left policy.Usage, known bool, err error) {
	var vcenters v1alpha1.VCenterList
	if err := o.Hub.List(ctx, &vcenters); err != nil {
		return left, false, fmt.Errorf("read VCenters from the hub: %w", err)
	}
	for i := range vcenters.Items {
		name := vcenters.Items[i].Name
		server, ok := o.Servers.Server(name)
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
		// Another replica has possibly started clones for the group, and vCenter shows no stamp of a VM before its clone has ended.
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
