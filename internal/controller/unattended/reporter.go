// Package unattended reports groups without an owning replica in their status.
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

// patience is how long a bucket can lack an owner before its groups report it. A takeover needs less time.
const patience = 30 * time.Second

// interval is how often the leader checks the buckets. timeout is the time limit of its writes to members. The next check writes the rest.
const interval, timeout = 10 * time.Second, 30 * time.Second

// Reporter sets condition Unattended. Without this condition, the status of a group without an owner does not show that changes have no effect.
// It runs on every replica and acts only on the leader. The next pass over a group removes the condition. All fields are required.
type Reporter struct {
	// Fleet contains the groups and their buckets.
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

// Replica is this process in the set of replicas that share the groups. *sharding.Replica implements it.
type Replica interface {
	sharding.Leader
	// Unowned returns the buckets without an owner, and how long this replica has known that.
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
	for _, groups := range members { // one goroutine for each member, because one can be slow
		all.Go(func() {
			for _, ref := range groups {
				// The writes take time. Check again that the group still lacks an owner.
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
		"Check the operator's Pods on the hub and the output of `manager shards`."
	set := func(conditionType string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&group.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: v1alpha1.ReasonNoReplica, Message: message,
			ObservedGeneration: group.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(u.Clock.Now().Truncate(time.Second)),
		})
	}
	set(v1alpha1.ConditionUnattended, metav1.ConditionTrue)
	set(v1alpha1.ConditionReady, metav1.ConditionUnknown)
	// If another replica has taken over the group meanwhile, its write wins because of the optimistic lock.
	err = cl.GetClient().Status().Patch(ctx, group, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
