//go:build unix

package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// keeper is a group of one VM that always exists. If the last VMs of the operator disappear together, the operator stops trusting the
// vCenter until a user accepts it as empty. A vCenter in use does not become empty.
const keeper = "keeper"

// keep waits until the keeper's VM runs, and resets the proxy's records.
func (r *rig) keep(ctx context.Context) error {
	if err := r.product.cluster.Create(ctx, newGroup(keeper, 1)); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("apply the group that stays: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer r.Proxy.Reset()
	return await.Condition(ctx, "the VM of the group that stays to run", func(ctx context.Context) (bool, error) {
		running, err := r.running(ctx, keeper)
		return running == 1, err
	})
}

// pile creates n groups of one VM, spread over the members.
func (r *rig) pile(ctx context.Context, prefix string, n int) error {
	seats := r.seats(n)
	if err := each(ctx, seats, func(ctx context.Context, i int, at seat) error {
		return at.member.Create(ctx, newGroup(fmt.Sprintf("%s-%d", prefix, i), 1))
	}); err != nil {
		return fmt.Errorf("apply %d groups: %w", n, err)
	}
	return nil
}

// clear deletes all groups except the keeper, and waits until they and their VMs are deleted.
func (r *rig) clear(ctx context.Context) error {
	groups := &v1alpha1.VmGroupList{}
	for _, name := range r.setup.members {
		member := r.Members[name]
		if err := member.List(ctx, groups); err != nil {
			return err
		}
		var seats []seat
		for _, name := range others(groups) {
			seats = append(seats, seat{member, name})
		}
		if err := each(ctx, seats, func(ctx context.Context, _ int, at seat) error {
			return client.IgnoreNotFound(at.member.Delete(ctx, newGroup(at.name, 0)))
		}); err != nil {
			return fmt.Errorf("delete the groups: %w", err)
		}
	}
	r.groups, r.replicas = 0, 0
	return r.everySecond(ctx, "all groups to be gone", func(ctx context.Context) (bool, error) {
		for _, member := range r.Members {
			if err := member.List(ctx, groups); err != nil {
				return false, err
			}
			if left := others(groups); len(left) > 0 {
				return false, fmt.Errorf("%d groups are left in %s, such as %s", len(left), member.Name, left[0])
			}
		}
		return true, nil
	})
}

// others returns the names of the groups except the keeper.
func others(groups *v1alpha1.VmGroupList) []string {
	var names []string
	for i := range groups.Items {
		if name := groups.Items[i].Name; name != keeper {
			names = append(names, name)
		}
	}
	return names
}

// clones returns the answered calls that created a VM, from the proxy's records.
func (r *rig) clones() []failover.Call {
	var done []failover.Call
	for _, c := range failover.NewHistory(r.Proxy.Records()).Calls {
		if c.Method == "CloneVM_Task" && c.Outcome == "ok" && !c.End.IsZero() {
			done = append(done, c)
		}
	}
	return done
}
