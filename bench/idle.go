//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const (
	idleGroups, idleReplicas = 200, 3
	idleWindow               = time.Minute
	settled                  = 12 * time.Second
	mebibyte                 = 1 << 20
)

// idle measures the cost of groups while nothing happens.
func idle(ctx context.Context, s *session, r *rig) error {
	if err := r.fill(ctx, s, idleGroups, idleReplicas); err != nil {
		return err
	}
	for _, mode := range []struct {
		name      string
		inventory v1alpha1.Inventory
		goal      goal
	}{
		{"poll-10s", v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 10}, atMost(0.01)},
		{"poll-1s", v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 1}, noGoal},
		{"watch", v1alpha1.Inventory{Mode: v1alpha1.InventoryWatch}, atMost(0.01)},
	} {
		if err := r.configure(ctx, func(v *v1alpha1.VCenterSpec) { v.Inventory = mode.inventory }); err != nil {
			return err
		}
		if err := r.settle(ctx, settled); err != nil {
			return err
		}
		c, err := r.window(ctx, idleWindow)
		if err != nil {
			return err
		}
		where := fmt.Sprintf("%d groups, %d VMs, inventory %s, %s", idleGroups, idleGroups*idleReplicas, mode.name, idleWindow)
		name := "idle/" + mode.name
		s.add(name+"/soap-per-group", float64(c.other)/idleGroups, "calls", atMost(0), "calls that are not the one listing of each interval, the one watch, or whether vCenter answers; %s", where)
		s.add(name+"/soap-in-all", float64(c.other+c.listing), "calls", noGoal, "the whole vCenter, however many groups; %s", where)
		s.add(name+"/api-writes", float64(c.writes.groups+c.writes.events), "writes", atMost(0), "groups and events in members; %s", where)
		s.add(name+"/cpu", c.usage.CPU.Seconds()/idleWindow.Seconds(), "cores", mode.goal, "%s", where)
		s.add(name+"/rss", float64(c.usage.RSS)/mebibyte, "MiB", noGoal, "%s", where)
	}
	return memory(ctx, s, r)
}

// memory measures the manager with the same number of VMs in more groups. The peak covers its whole life: other modes, and scaling down and
// up.
func memory(ctx context.Context, s *session, r *rig) error {
	const groups, replicas = 300, 2
	if err := r.configure(ctx, func(v *v1alpha1.VCenterSpec) { v.Inventory = r.setup.inventory }); err != nil {
		return err
	}
	if err := r.fill(ctx, s, groups, replicas); err != nil {
		return err
	}
	if err := r.settle(ctx, settled); err != nil {
		return err
	}
	used, err := readUsage(r.Manager.PID())
	if err != nil {
		return err
	}
	s.add("idle/memory/peak", float64(used.Peak)/mebibyte, "MiB", atMost(150),
		"%d groups, %d VMs, 2 members; VmHWM since the manager started, fill and changes of mode included", groups, groups*replicas)
	s.add("idle/memory/rss", float64(used.RSS)/mebibyte, "MiB", noGoal, "%d groups, %d VMs, 2 members; VmRSS when settled", groups, groups*replicas)
	return nil
}
