// Package unattended says on groups that no replica looks after that this is so.
package unattended

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// patience is how long a bucket may be without an owner before its groups say so. A takeover takes less.
const patience = 30 * time.Second

// interval is how often the leader looks, and timeout is how long it writes to members then. What is left is written in the next look.
const interval, timeout = 10 * time.Second, 30 * time.Second

// Reporter sets condition Unattended: without it, the status of a group that no replica looks after looks well until somebody changes the group.
// It runs on every replica and acts on the one that leads. The next pass over a group removes the condition. All fields are required.
type Reporter struct {
	// Fleet has the groups and their buckets.
	Fleet *fleet.Fleet
	// Clusters are the members.
	Clusters Clusters
	// Replica is this process.
	Replica Replica
	Clock   clock.PassiveClock
}

// Clusters finds the clients of an engaged member.
type Clusters interface {
	GetCluster(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// Replica is this process as one of those that share the groups. *sharding.Replica implements it.
type Replica interface {
	sharding.Leader
	// Unowned returns the buckets without an owner, with the time for which that is known.
	Unowned() map[int]time.Duration
}

// Start implements manager.Runnable.
func (u *Reporter) Start(ctx context.Context) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			u.look(ctx)
		}
	}
}

func (u *Reporter) look(ctx context.Context) {
	if !u.Replica.Leading() {
		return
	}
	var buckets []int
	for b, unowned := range u.Replica.Unowned() {
		if unowned >= patience {
			buckets = append(buckets, b)
		}
	}
	if len(buckets) == 0 {
		return
	}
	members := map[string][]fleet.Ref{}
	for _, g := range u.Fleet.In(fleet.Scope{Buckets: buckets}) {
		members[g.Ref.Member] = append(members[g.Ref.Member], g.Ref)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var count atomic.Int64
	var all sync.WaitGroup
	for _, groups := range members { // each on its own: one can answer slowly
		all.Go(func() {
			for _, ref := range groups {
				// Saying it takes a while; it has to be true when it is said.
				if b, ok := u.Fleet.Bucket(ref); !ok || ctx.Err() != nil || !u.Replica.Leading() || u.Replica.Unowned()[b] < patience {
					continue
				}
				count.Add(1)
				if err := u.say(ctx, ref); err != nil {
					log.FromContext(ctx).WithValues(u.Fleet.LogValues(ref)...).Error(err, "Failed to set condition Unattended")
				}
			}
		})
	}
	all.Wait()
	log.FromContext(ctx).Error(nil, "Buckets have no owner; see manager shards", "buckets", len(buckets), "groups", count.Load())
}

func (u *Reporter) say(ctx context.Context, ref fleet.Ref) error {
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	cl, err := u.Clusters.GetCluster(ctx, multicluster.ClusterName(ref.Member))
	if err != nil {
		return fmt.Errorf("find the clients of member %q: %w", ref.Member, err)
	}
	group := &v1alpha1.VmGroup{}
	if err := cl.GetClient().Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, group); err != nil {
		return client.IgnoreNotFound(err)
	}
	if meta.IsStatusConditionTrue(group.Status.Conditions, v1alpha1.ConditionUnattended) {
		return nil
	}
	base := group.DeepCopy()
	const message = "No replica of the operator has looked after this group for a while; its VMs are as they were. " +
		"Look at the operator's Pods on the hub and at the output of `manager shards`."
	set := func(conditionType string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&group.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: v1alpha1.ReasonNoReplica, Message: message,
			ObservedGeneration: group.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(u.Clock.Now().Truncate(time.Second)),
		})
	}
	set(v1alpha1.ConditionUnattended, metav1.ConditionTrue)
	set(v1alpha1.ConditionReady, metav1.ConditionUnknown)
	// The lock lets a replica win that has taken the group over meanwhile.
	err = cl.GetClient().Status().Patch(ctx, group, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
