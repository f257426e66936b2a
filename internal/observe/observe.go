// Package observe collects the input of decisions about a group: a [group.Snapshot]. It reads memory: the fleet, caches
// of API servers, and inventories of vCenters. It has no means to write.
package observe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Clusters finds the clients of an engaged member.
type Clusters interface {
	GetCluster(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// Sources are the sources of a snapshot. All fields are required.
type Sources struct {
	// Fleet has all members and groups.
	Fleet *fleet.Fleet
	// Hub reads the hub's cache.
	Hub client.Reader
	// Clusters are the clients of engaged members.
	Clusters Clusters
	// Servers are the vCenters.
	Servers vsphere.Servers
	// Installation is the UID of this installation, part of every owner stamp.
	Installation string
	// Now is the clock.
	Now func() time.Time

	policies policyCache
}

// Records are the hub's records of groups. *admitted.Records implements it.
type Records interface {
	Of(key admitted.Key) (admitted.Entry, bool, error)
	OfMember(clusterUID string) (map[types.UID]admitted.Entry, error)
}

// Memory is this process's memory of its actions on groups.
type Memory interface {
	// Evaluate returns set.Evaluate for the spec of a group. The result is remembered until its input changes.
	Evaluate(set *policy.Set, key vsphere.GroupKey, of *v1alpha1.VmGroup, by policy.Requester, path string) []policy.Violation
	// Claimed returns this process's claims for a group on VMs of the group with this UID, or nil.
	Claimed(key vsphere.GroupKey, by *v1alpha1.VmGroup, from string) *group.AdoptionAnswer
}

// Observer takes snapshots of groups.
type Observer struct {
	*Sources
	// Admitted are the records of the admitted specs of groups.
	Admitted Records
	// KnownReceipts are the receipts of deleted groups.
	KnownReceipts KnownReceipts
	// Memory is that of the controller. If it is nil, no result is remembered.
	Memory Memory
}

// View is the context of a snapshot.
type View struct {
	Member fleet.Member
	// Cache of the member.
	Cache client.Reader
	// Epoch with which the replica can act on the group.
	Epoch v1alpha1.Epoch
	Now   time.Time
}

// Snapshot reads all data about a group that needs no call. The server is the vCenter in which the group was observed, or
// nil. The error is one of reading Kubernetes.
func (o *Observer) Snapshot(ctx context.Context, of *v1alpha1.VmGroup, v View) (*group.Snapshot, vsphere.Server, error) {
	g := gatherer{Observer: o, View: v}
	s, err := g.gather(ctx, of)
	if err != nil || g.asked != s.VCenter { // another vCenter was read, to locate the VMs
		return s, nil, err
	}
	return s, g.server, nil
}
