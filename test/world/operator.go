package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// vcenterName is the VCenter of groups that name none.
const vcenterName = "default"

// workers of each replica: the default number.
const workers = 16

// Operator is the group controller in one replica, wired as in internal/operator.
type Operator struct {
	reconciler *vmgroup.Reconciler
	manager    mcmanager.Manager
	member     *memberCluster
	feed       *feed
}

// gate counts the entered passes.
type gate struct {
	*sharding.Replica
	replica *Replica
}

// Enter implements sharding.Gate.
func (g gate) Enter(ctx context.Context, key sharding.Key) (sharding.Token, bool) {
	token, ok := g.Replica.Enter(ctx, key)
	if ok {
		g.replica.mu.Lock()
		defer g.replica.mu.Unlock()
		g.replica.passes++
	}
	return token, ok
}

// servers is one replica's connection to the vCenter.
type servers struct{ *wire }

// Server implements vsphere.Servers.
func (s servers) Server(name string) (vsphere.Server, bool) { return s.wire, name == vcenterName }

// wallClock is the clock of a replica's process.
type wallClock struct{ *Replica }

// Now implements fleet.Clock.
func (c wallClock) Now() time.Time { return c.Process.Clock().Wall }

func (o *Operator) set(r *Replica) error {
	m := r.world.Member
	o.feed = newFeed(r.Process)
	cached := newGroupCache(o.feed)
	o.member = &memberCluster{cache: cached, client: &groupClient{member: m, cache: cached, replica: r}}
	var err error
	hub := &hubManager{client: hubReader{}, cache: newGroupCache(o.feed)}
	if o.manager, err = mcmanager.WithMultiCluster(hub, o.member); err != nil {
		return fmt.Errorf("prepare the manager: %w", err)
	}
	known := fleet.New(wallClock{r}, massdeletion.DefaultRules(), r.Replica)
	known.SetMember(fleet.Member{Name: v1alpha1.LocalMember, UID: clusterUID, State: fleet.Engaged})
	o.reconciler = &vmgroup.Reconciler{
		Observer: &observe.Observer{Admitted: &m.records, Sources: &observe.Sources{
			Clusters: o.manager, Hub: hubReader{}, Servers: servers{r.wire}, Fleet: known, Installation: "installation",
			Now: func() time.Time { return r.Process.Clock().Wall },
		}},
		Shards: gate{r.Replica, r}, Records: &m.records,
		HubWrites: writebudget.New(writebudget.Default, func() time.Time { return r.Process.Clock().Wall }),
	}
	if err := o.reconciler.SetupWithManager(o.manager, vmgroup.Options{Workers: workers}); err != nil {
		return fmt.Errorf("set up the group controller: %w", err)
	}
	r.world.VCenter.subscribe(r, func(group vsphere.GroupKey) { o.feed.add(func() { known.GroupChanged(group) }) })
	m.subscribe(cached)
	return nil
}

func (o *Operator) gained(buckets []int) { o.reconciler.Fleet.Gained(buckets) }
func (o *Operator) lost(buckets []int)   { o.reconciler.Fleet.Lost(buckets) }

func (o *Operator) run(ctx context.Context, r *Replica) {
	var running sync.WaitGroup
	running.Go(func() { o.feed.run(ctx) })
	if err := o.manager.Engage(ctx, multicluster.ClusterName(v1alpha1.LocalMember), o.member); err != nil {
		r.world.t.Errorf("engage the member: %v", err)
	}
	if err := o.manager.Start(ctx); err != nil {
		r.world.t.Errorf("run the manager: %v", err)
	}
	running.Wait()
	r.world.Member.unsubscribe(o.member.cache)
}
