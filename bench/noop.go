//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

const (
	noopRounds  = 5
	noopTouches = 1000
	reconciles  = "controller_runtime_reconcile_total"
)

// noop measures a reconcile without work. Annotations change one at a time, so that two changes of a group do not become one reconcile.
func noop(ctx context.Context, s *session, r *rig) error {
	if r.groups == 0 {
		if err := r.fill(ctx, s, 100, 2); err != nil {
			return err
		}
	}
	if err := r.settle(ctx, settled); err != nil {
		return err
	}
	quiet, err := r.window(ctx, 20*time.Second)
	if err != nil {
		return err
	}
	rate := quiet.usage.CPU.Seconds() / 20
	var soap, written, cpu, passes []float64
	for round := range noopRounds {
		one, took, err := r.touchAll(ctx, round)
		if err != nil {
			return err
		}
		soap = append(soap, float64(one.count.other))
		written = append(written, float64(one.count.writes.groups+one.count.writes.events-noopTouches))
		cpu = append(cpu, (one.count.usage.CPU.Seconds()-rate*took.Seconds())/noopTouches*1e6)
		passes = append(passes, one.passes/noopTouches)
		s.say("  round %d of %d: %d touches in %s, %.0f µs of CPU each", round+1, noopRounds, noopTouches, took.Round(100*time.Millisecond), cpu[round])
	}
	where := fmt.Sprintf("%d touched annotations over %d groups of %d VMs, poll mode every 10 s; worst of %d rounds", noopTouches, r.groups, r.replicas, noopRounds)
	s.add("noop/soap", worst(soap), "calls", atMost(0), "besides the listings; %s", where)
	s.add("noop/api-writes", worst(written), "writes", atMost(0), "by the operator; %s", where)
	s.add("noop/reconciles", median(passes), "per touch", noGoal, "by the manager's own metric, to show that the touches were seen; %s", where)
	s.add("noop/cpu/median", median(cpu), "µs", atMost(100),
		"of the whole process per touch, with watch, decoding and caching, less what it takes idle; %d touches in each of %d rounds", noopTouches, noopRounds)
	s.add("noop/cpu/worst", worst(cpu), "µs", noGoal, "as above")
	return r.noopOriginal(ctx, s)
}

type touched struct {
	count  count
	passes float64
}

func (r *rig) touchAll(ctx context.Context, round int) (one touched, took time.Duration, err error) {
	passesBefore, err := r.metric(ctx, reconciles, `controller="vmgroup"`)
	if err != nil {
		return one, 0, err
	}
	before, err := r.count(ctx)
	if err != nil {
		return one, 0, err
	}
	seats := r.seats(r.groups)
	for done := 0; done < noopTouches; done += len(seats) {
		batch := seats[:min(len(seats), noopTouches-done)]
		if err := each(ctx, batch, func(ctx context.Context, i int, at seat) error {
			return at.member.Patch(ctx, newGroup(at.name, 0), mergePatch(fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d-%d-%d"}}}`, round, done, i)))
		}); err != nil {
			return one, 0, fmt.Errorf("touch: %w", err)
		}
	}
	// Changes of a queued group are one reconcile. Wait for the expected number of reconciles, or for an empty queue.
	if err := r.untilIdle(ctx); err != nil {
		return one, 0, err
	}
	after, err := r.count(ctx)
	if err != nil {
		return one, 0, err
	}
	passesAfter, err := r.metric(ctx, reconciles, `controller="vmgroup"`)
	return touched{after.minus(before), passesAfter - passesBefore}, after.at.Sub(before.at), err
}

// untilIdle waits until no group is in reconciliation or in the queue.
func (r *rig) untilIdle(ctx context.Context) error {
	last, same := -1.0, 0
	return await.Condition(ctx, "the manager's queue to be empty", func(ctx context.Context) (bool, error) {
		text, err := get(ctx, r.metrics)
		if err != nil {
			return false, err
		}
		now := sumOf(text, reconciles, `controller="vmgroup"`)
		if now != last {
			last, same = now, 0
		} else {
			same++
		}
		return same >= 8 && sumOf(text, "controller_runtime_active_workers", `controller="vmgroup"`) == 0 &&
			sumOf(text, "workqueue_depth", `controller="vmgroup"`) == 0, nil
	})
}

// noopOriginal measures the same for the original, with fewer groups, because each of its passes is the same.
func (r *rig) noopOriginal(ctx context.Context, s *session) error {
	const groups, replicas, rounds = 10, 3, 5
	original, err := r.startOriginal(ctx)
	if err != nil {
		return err
	}
	u := original.subject
	for i := range groups {
		if err := u.apply(ctx, fmt.Sprintf("touched-%d", i), replicas); err != nil {
			return err
		}
	}
	if err := await.Condition(ctx, "the original's VMs to run", func(ctx context.Context) (bool, error) {
		running, err := r.running(ctx, "touched")
		return running == groups*replicas, err
	}); err != nil {
		return err
	}
	if err := r.untilQuiet(ctx, u, 3*time.Second); err != nil {
		return err
	}
	var soap, written, cpu []float64
	for round := range rounds {
		usedBefore, err := readUsage(original.cmd.Process.Pid)
		if err != nil {
			return err
		}
		before, err := writesOf(ctx, u.cluster)
		if err != nil {
			return err
		}
		callsBefore := r.Proxy.Count("", u.agent)
		for i := range groups {
			err := u.cluster.Patch(ctx, newGroup(fmt.Sprintf("touched-%d", i), 0),
				mergePatch(fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, round)))
			if err != nil {
				return fmt.Errorf("touch: %w", err)
			}
		}
		if err := r.untilQuiet(ctx, u, 1500*time.Millisecond); err != nil {
			return err
		}
		usedAfter, err := readUsage(original.cmd.Process.Pid)
		if err != nil {
			return err
		}
		after, err := writesOf(ctx, u.cluster)
		if err != nil {
			return err
		}
		soap = append(soap, float64(r.Proxy.Count("", u.agent)-callsBefore)/groups)
		written = append(written, float64(after.minus(before).groups-groups)/groups)
		cpu = append(cpu, float64((usedAfter.CPU-usedBefore.CPU).Microseconds())/groups)
	}
	where := fmt.Sprintf("per touch of a group of %d VMs; %d groups, %d rounds", replicas, groups, rounds)
	s.add("noop/original/soap", median(soap), "calls", noGoal, "%s", where)
	s.add("noop/original/api-writes", median(written), "writes", noGoal, "%s", where)
	s.add("noop/original/cpu", median(cpu), "µs", noGoal, "%s", where)
	s.add("idle/original/soap-per-minute", median(soap)*idleGroups/5, "calls", noGoal,
		"computed: the same pass for each of %d groups every 5 minutes, its resync", idleGroups)
	return nil
}
