// Package observe turns what this replica knows into what decisions about a group depend on: a [group.Snapshot]. It reads
// memory: the fleet, caches of API servers, and inventories of vCenters. It has nothing to write with.
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

// Sources are what is read. All fields are required.
type Sources struct {
	// Fleet is what this replica knows of all members and groups.
	Fleet *fleet.Fleet
	// Hub reads the hub's cache.
	Hub client.Reader
	// Clusters are the clients of members that are engaged.
	Clusters Clusters
	// Servers are the vCenters.
	Servers vsphere.Servers
	// Installation is the UID of this installation, part of every owner stamp.
	Installation string
	// Now is the clock.
	Now func() time.Time

	policies policyCache
}

// Records are what the hub has on record of groups. *admitted.Records implements it.
type Records interface {
	Of(key admitted.Key) (admitted.Entry, bool, error)
	OfMember(clusterUID string) (map[types.UID]admitted.Entry, error)
}

// Memory is what this process remembers of acting on groups.
type Memory interface {
	// Evaluate is set.Evaluate for the spec of a group, remembered until what it depends on changes.
	Evaluate(set *policy.Set, key vsphere.GroupKey, of *v1alpha1.VmGroup, by policy.Requester, path string) []policy.Violation
	// Claimed returns what this process has claimed for a group of the VMs of the group with this UID, or nil.
	Claimed(key vsphere.GroupKey, by *v1alpha1.VmGroup, from string) *group.AdoptionAnswer
}

// Observer takes snapshots of groups.
type Observer struct {
	*Sources
	// Admitted is what was admitted to groups.
	Admitted Records
	// KnownReceipts are the receipts of groups that are gone.
	KnownReceipts KnownReceipts
	// Memory is that of the controller. If it is nil, nothing is remembered.
	Memory Memory
}

// View is what a snapshot is taken with.
type View struct {
	Member fleet.Member
	// Cache of the member.
	Cache client.Reader
	// Epoch under which the group can be acted on.
	Epoch v1alpha1.Epoch
	Now   time.Time
}

// Snapshot reads everything about a group that costs no call. The server is the vCenter that the group was observed with,
// or nil. The error is one of reading Kubernetes.
func (o *Observer) Snapshot(ctx context.Context, of *v1alpha1.VmGroup, v View) (*group.Snapshot, vsphere.Server, error) {
	g := gatherer{Observer: o, View: v}
	s, err := g.gather(ctx, of)
	if err != nil || g.asked != s.VCenter { // another vCenter was looked at, for where the VMs are
		return s, nil, err
	}
	return s, g.server, nil
}
