//go:build unix

package main

import (
	"context"
	"fmt"
	"time"
)

// scaleUp compares the time of a big group with the physical bound, which is ceil(N/C) consecutive tasks.
func scaleUp(ctx context.Context, s *session, r *rig) error {
	makespan := func(one round) time.Duration { return one.makespan }
	medians := map[int]time.Duration{}
	for _, c := range []struct {
		width   int
		allowed float64
	}{{8, 1.10}, {16, 1.20}} {
		width := c.width
		if err := r.setWidth(ctx, width); err != nil {
			return err
		}
		rounds, err := r.live(ctx, s, r.product, width, productRounds)
		if err != nil {
			return err
		}
		took := collect(rounds, makespan)
		over := ratios(took, bound(big, width, r.setup.taskTime))
		medians[width] = time.Duration(median(ratios(took, 1)))
		conditions := fmt.Sprintf("%d clones of %s, %d at a time; bound %s; apply until vCenter runs all; %d rounds",
			big, r.setup.taskTime, width, bound(big, width, r.setup.taskTime), len(took))
		s.add(fmt.Sprintf("scale-up/%d-wide/median", width), median(over), "x bound", atMost(c.allowed), "%s", conditions)
		s.add(fmt.Sprintf("scale-up/%d-wide/worst", width), worst(over), "x bound", noGoal, "%s", conditions)
	}
	original, err := r.startOriginal(ctx)
	if err != nil {
		return err
	}
	rounds, err := r.live(ctx, s, original.subject, 3, originalRounds)
	if err != nil {
		return err
	}
	took := median(ratios(collect(rounds, makespan), 1))
	s.add("scale-up/original", took/float64(bound(big, 16, r.setup.taskTime)), "x bound", noGoal,
		"the original, which is 3 wide, against the bound for 16; %d rounds", len(rounds))
	s.add("scale-up/original-vs-product", took/float64(medians[16]), "x", atLeast(4.5),
		"median of the original / median of the product at 16 wide; same servers, same run")
	return nil
}

// calls measures the load of a big group on vCenter and the API server.
func calls(ctx context.Context, s *session, r *rig) error {
	const width = 16
	if err := r.setWidth(ctx, width); err != nil {
		return err
	}
	rounds, err := r.live(ctx, s, r.product, width, productRounds)
	if err != nil {
		return err
	}
	original, err := r.startOriginal(ctx)
	if err != nil {
		return err
	}
	theirs, err := r.live(ctx, s, original.subject, 3, 1)
	if err != nil {
		return err
	}
	perClone := func(one round) float64 { return float64(one.upCalls) / big }
	perLife := func(one round) float64 { return float64(one.lifeCalls) / big }
	where := fmt.Sprintf("%d VMs, %d wide, watch mode; everything until 1.5 s without a call, counted by the proxy; %d rounds", big, width, len(rounds))
	s.say("  calls of the last round: %v", rounds[len(rounds)-1].byMethod)
	s.add("calls/soap-per-clone/median", median(collect(rounds, perClone)), "calls", atMost(2.5), "clone and power-on; %s", where)
	s.add("calls/soap-per-clone/worst", worst(collect(rounds, perClone)), "calls", noGoal, "%s", where)
	s.add("calls/soap-per-life/median", median(collect(rounds, perLife)), "calls", noGoal, "per VM, until the group is deleted; %s", where)
	s.add("calls/original/soap-per-clone", median(collect(theirs, perClone)), "calls", noGoal, "power-on is part of the clone; %d rounds", len(theirs))
	s.add("calls/original/soap-per-life", median(collect(theirs, perLife)), "calls", noGoal, "per VM; %d rounds", len(theirs))

	budget := float64(2*((big+width-1)/width) + 5)
	groupWrites := collect(rounds, func(one round) float64 { return float64(one.upWrites.groups) })
	s.add("calls/api-writes/median", median(groupWrites), "writes", atMost(budget),
		"on the group, until all VMs run; goal 2*ceil(N/C)+5; API server metrics; %d rounds", len(rounds))
	s.add("calls/api-writes/worst", worst(groupWrites), "writes", noGoal, "as above")
	s.add("calls/api-events/median", median(collect(rounds, func(one round) float64 { return float64(one.upWrites.events) })), "writes", noGoal,
		"events of the same time")
	s.add("calls/api-writes-per-life/median", median(collect(rounds, func(one round) float64 { return float64(one.lifeWrites.groups) })), "writes", noGoal,
		"on the group, until it is deleted")
	s.add("calls/original/api-writes", median(collect(theirs, func(one round) float64 { return float64(one.upWrites.groups) })), "writes", noGoal,
		"until all VMs run; it says nothing meanwhile; %d rounds", len(theirs))
	return nil
}
