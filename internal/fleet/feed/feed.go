// Package feed writes the reports of members' informers into the fleet: groups and namespaces when a member is engaged,
// and each change until the engagement ends.
package feed

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// pause is the time between two rounds over changed namespaces.
const pause = time.Second

// Feed writes into one fleet. Add it to the manager, which engages members with it.
type Feed struct {
	fleet      *fleet.Fleet
	groups     Groups
	namespaces *namespaces
}

// New returns a feed of the fleet. It gives each event of a group to the receiver.
func New(of *fleet.Fleet, groups Groups) *Feed { return &Feed{of, groups, newNamespaces()} }

// Start implements manager.Runnable. It delivers changes of namespaces to their groups at once, and then after a pause,
// so that endless changes cost one round a second.
func (f *Feed) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.namespaces.some:
		}
		f.Round()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Round delivers all pending changes of namespaces to their groups.
func (f *Feed) Round() {
	for of, is := range f.namespaces.take() {
		f.fleet.SetNamespace(of.member, of.namespace, is.confirmed)
		if is.changed {
			f.fleet.NamespaceChanged(of.member, of.namespace)
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: each replica needs all groups.
func (*Feed) NeedLeaderElection() bool { return false }

func named(member multicluster.ClusterName, uid string, group client.Object) (fleet.Ref, vsphere.GroupKey) {
	ref := fleet.Ref{Member: string(member), Namespace: group.GetNamespace(), Name: group.GetName()}
	return ref, vsphere.KeyOf(uid, string(group.GetUID()))
}
