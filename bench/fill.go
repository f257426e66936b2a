//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// atOnce limits the concurrent requests of this program.
const atOnce = 8

// seat is one of the groups of a rig.
type seat struct {
	member *stack.Cluster
	name   string
}

// seats returns the first n groups, spread over the members.
func (r *rig) seats(n int) []seat {
	out := make([]seat, n)
	for i := range out {
		out[i] = seat{r.Members[r.setup.members[i%len(r.setup.members)]], fmt.Sprintf("vg-%d", i)}
	}
	return out
}

// fill makes the rig contain exactly groups of replicas VMs each. It waits until all groups are ready and their VMs run.
func (r *rig) fill(ctx context.Context, s *session, groups, replicas int) error {
	if r.groups == groups && r.replicas == replicas {
		return nil
	}
	began := time.Now()
	err := each(ctx, r.seats(groups), func(ctx context.Context, i int, at seat) error {
		if i >= r.groups {
			return at.member.Create(ctx, newGroup(at.name, replicas))
		}
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
		return at.member.Patch(ctx, newGroup(at.name, 0), mergePatch(patch))
	})
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	r.groups, r.replicas = groups, replicas
	if err := r.untilFilled(ctx); err != nil {
		return err
	}
	s.say("  %d groups with %d VMs are ready after %s", groups, groups*replicas, time.Since(began).Round(time.Second))
	return nil
}

func (r *rig) untilFilled(ctx context.Context) error {
	what := fmt.Sprintf("%d groups of %d VMs to be ready", r.groups, r.replicas)
	return r.everySecond(ctx, what, func(ctx context.Context) (bool, error) {
		vms, err := r.eye.VMs(ctx)
		on := 0
		for _, vm := range vms {
			if vm.On {
				on++
			}
		}
		if err != nil || on < r.groups*r.replicas {
			return false, err
		}
		ready := 0
		for _, member := range r.Members {
			list := &v1alpha1.VmGroupList{}
			if err := member.List(ctx, list); err != nil {
				return false, err
			}
			for i := range list.Items {
				g := &list.Items[i]
				if stack.IsReady(g.Status.Conditions) && g.Status.ObservedGeneration == g.Generation && int(g.Status.Replicas) == r.replicas {
					ready++
				}
			}
		}
		return ready == r.groups, nil
	})
}

// everySecond is await.Condition for expensive conditions.
func (r *rig) everySecond(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last time.Time
	return await.Condition(ctx, what, func(ctx context.Context) (bool, error) {
		if time.Since(last) < time.Second {
			return false, nil
		}
		defer func() { last = time.Now() }()
		return condition(ctx)
	})
}

// each calls do for all groups, several at a time.
func each(ctx context.Context, seats []seat, do func(ctx context.Context, i int, at seat) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, at := range seats {
		group.Go(func() error { return do(ctx, i, at) })
	}
	return group.Wait()
}

func mergePatch(patch string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(patch))
}
