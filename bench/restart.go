//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

const (
	restartGroups = 1000
	restartRounds = 5
	// Only some rounds also measure a change, because that takes another restart.
	restartChanges = 3
)

// restart measures how soon a restarted manager knows all groups again, and the cost of that.
func restart(ctx context.Context, s *session, r *rig) error {
	if err := r.fill(ctx, s, restartGroups, 1); err != nil {
		return err
	}
	if err := r.settle(ctx, settled); err != nil {
		return err
	}
	var stopped, observed, acted, written, onHub []float64
	for i := range restartRounds {
		members, hub, err := r.writesByPlace(ctx)
		if err != nil {
			return err
		}
		signaled := time.Now()
		began, err := r.bounce(ctx)
		if err != nil {
			return err
		}
		took, err := r.untilObserved(ctx, began)
		if err != nil {
			return err
		}
		if err := r.settle(ctx, 3*time.Second); err != nil {
			return err
		}
		membersAfter, hubAfter, err := r.writesByPlace(ctx)
		if err != nil {
			return err
		}
		members, hub = membersAfter.minus(members), hubAfter.minus(hub)
		stopped, observed = append(stopped, began.Sub(signaled).Seconds()), append(observed, took.Seconds())
		written, onHub = append(written, float64(members.groups+members.events)), append(onHub, float64(hub.groups+hub.events))
		s.say("  round %d of %d: ended %.2f s after SIGTERM, all observed %.2f s after its start; writes on groups %+v, on the hub %+v", i+1, restartRounds, began.Sub(signaled).Seconds(), took.Seconds(), members, hub)
		if i >= restartChanges {
			continue
		}
		handled, err := r.changeMeanwhile(ctx, i)
		if err != nil {
			return err
		}
		acted = append(acted, handled.Seconds())
		s.say("  a change made meanwhile was sent to vCenter after %.2f s", handled.Seconds())
	}
	where := fmt.Sprintf("%d groups with one VM each in 2 members, SIGTERM and start; poll mode every 2 s; %d rounds", restartGroups, restartRounds)
	s.add("restart/observed/median", median(observed), "s", atMost(5),
		"from the start of the process until its metrics count a reconcile of each group and the queue stays empty; %s", where)
	s.add("restart/stop/worst", worst(stopped), "s", noGoal, "from SIGTERM until the process has ended")
	s.add("restart/observed/worst", worst(observed), "s", noGoal, "as above")
	s.add("restart/change/median", median(acted), "s", noGoal,
		"from the start of the process until the clone for a group that was scaled while it was down reaches the proxy; %d rounds", len(acted))
	s.add("restart/api-writes", worst(written), "writes", atMost(0), "on groups and their events, all members; worst; %s", where)
	s.add("restart/api-writes-hub", worst(onHub), "writes", noGoal, "status and events of the VCenter, members and election; worst")
	return nil
}

// bounce stops the manager, as kubelet does, and starts it again. It returns the time of the start.
func (r *rig) bounce(ctx context.Context) (time.Time, error) {
	if err := r.Manager.Stop(); err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	return began, r.RestartManager(ctx)
}

// untilObserved waits until every group was reconciled and the queue is empty. It returns the time from began to the last reconcile.
func (r *rig) untilObserved(ctx context.Context, began time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last, since := -1.0, time.Now()
	err := await.Condition(ctx, "all groups to be observed", func(ctx context.Context) (bool, error) {
		text, err := get(ctx, r.metrics)
		if err != nil {
			return false, err
		}
		if now := sumOf(text, reconciles, `controller="vmgroup"`); now != last {
			last, since = now, time.Now()
		}
		return last >= float64(r.groups) && time.Since(since) > 2*time.Second &&
			sumOf(text, "workqueue_depth", `controller="vmgroup"`) == 0, nil
	})
	return since.Sub(began), err
}

// changeMeanwhile scales a group while the manager is down, and returns the time from the manager's start to the clone.
func (r *rig) changeMeanwhile(ctx context.Context, i int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.Manager.Stop(); err != nil {
		return 0, err
	}
	at := r.seats(i + 1)[i]
	scale := func(n int) error {
		return at.member.Patch(ctx, newGroup(at.name, 0), mergePatch(fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)))
	}
	if err := scale(2); err != nil {
		return 0, err
	}
	before := r.Proxy.Count("CloneVM_Task", productAgent)
	began := time.Now()
	if err := r.RestartManager(ctx); err != nil {
		return 0, err
	}
	if err := await.Condition(ctx, "the clone of "+at.name, func(context.Context) (bool, error) {
		return r.Proxy.Count("CloneVM_Task", productAgent) > before, nil
	}); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := r.everySecond(ctx, "the clone of "+at.name+" to run", func(ctx context.Context) (bool, error) {
		running, err := r.running(ctx, at.name)
		return running == 2, err
	}); err != nil {
		return 0, err
	}
	if err := scale(1); err != nil {
		return 0, err
	}
	if err := r.untilFilled(ctx); err != nil {
		return 0, err
	}
	return took, r.settle(ctx, settled/2)
}
