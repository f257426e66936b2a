//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// stretches is the number of consecutive measurements of a backlog's pace.
	stretches = 5
	// narrow is the vCenter's task limit when it is the bottleneck, and wide when it is not.
	narrow, wide = 8, 128
	// acceptance is the time until vCenter accepts a clone when the replicas are the bottleneck. A pass must wait for it without using a
	// processor. All replicas and servers share a few cores, which must not be the bottleneck.
	acceptance = 3 * time.Second
	// ownStretch is the number of clones for each replica in such a stretch: whole rounds of passes, which tend to run in step.
	ownStretch = 6
)

// replicas measures the gain from more replicas, and their cost when they cannot help.
func replicas(ctx context.Context, s *session, r *rig) error {
	limited, own := map[int][]float64{}, map[int][]float64{}
	sizes := []int{1, 3, 5}
	for _, n := range sizes {
		if err := r.staff(ctx, s, n); err != nil {
			return err
		}
		var err error
		if limited[n], err = r.limitedPaces(ctx, n); err != nil {
			return err
		}
		s.say("  %d replicas, bound by the limit of %d tasks: %.2f clones/s (median of %d)", n, narrow, median(limited[n]), len(limited[n]))
		if own[n], err = r.ownPaces(ctx, n); err != nil {
			return err
		}
		s.say("  %d replicas, bound by what they can do: %.2f clones/s (median of %d)", n, median(own[n]), len(own[n]))
	}
	goals := map[int]goal{1: noGoal, 3: atLeast(0.90), 5: atLeast(0.85)}
	for _, n := range sizes {
		where := fmt.Sprintf("clones/s of a backlog of one-VM groups in two members, L = %s, all replicas together limited to %d tasks, so that %.0f/s is the most for any number; %d stretches of %d clones",
			r.setup.taskTime, narrow, narrow/r.setup.taskTime.Seconds(), len(limited[n]), narrow)
		s.addScaling(fmt.Sprintf("replicas/limited/%d", n), limited[n], limited[1], 1, goals[n], where)
	}
	for _, n := range sizes {
		where := fmt.Sprintf("clones/s, vCenter takes %s to accept each and each replica has %d passes for it (--workers=%d), so that %.0f/s is the most; the limit of %d tasks is not reached; while all replicas have work; %d stretches of %d clones",
			acceptance, passes, workers, float64(n*passes)/acceptance.Seconds(), wide, len(own[n]), n*ownStretch)
		s.addScaling(fmt.Sprintf("replicas/own/%d", n), own[n], own[1], n, goals[n], where)
	}
	return nil
}

// addScaling adds a pace and its ratio to times the pace of one replica.
func (s *session) addScaling(name string, measured, one []float64, times int, g goal, where string) {
	s.add(name+"/median", median(measured), "clones/s", noGoal, "%s", where)
	s.add(name+"/worst", percentile(measured, 1), "clones/s", noGoal, "as above")
	if g != noGoal {
		s.add(name+"/efficiency", median(measured)/(float64(times)*median(one)), "", g, "median / (%d * median of one replica)", times)
		s.add(name+"/efficiency/worst", percentile(measured, 1)/(float64(times)*median(one)), "", noGoal, "worst stretch / (%d * median of one replica)", times)
	}
}

// limitedPaces measures with vCenter's limit as the bottleneck. The first wave is the start.
func (r *rig) limitedPaces(ctx context.Context, n int) ([]float64, error) {
	const skip, stretch = narrow, narrow
	const groups = skip + stretches*stretch
	if err := errors.Join(r.setWidth(ctx, narrow), r.keep(ctx)); err != nil {
		return nil, err
	}
	if err := r.pile(ctx, fmt.Sprintf("limited-%d", n), groups); err != nil {
		return nil, err
	}
	var done []failover.Call
	if err := r.waitFor(ctx, "all clones to be accepted", func() bool {
		done = r.clones()
		return len(done) >= groups
	}); err != nil {
		return nil, err
	}
	// Count all processes, even those without work, because the others can use the whole limit.
	out := paces(together(deedsOf(done, false), 1), skip, stretch)
	if err := r.setWidth(ctx, wide); err != nil {
		return nil, err
	}
	return out, r.clear(ctx)
}

// ownPaces measures with the passes of the replicas as the bottleneck.
func (r *rig) ownPaces(ctx context.Context, n int) ([]float64, error) {
	skip, stretch := n*passes, n*ownStretch
	need := skip + stretches*stretch
	groups := need + n*passes
	if n > 1 {
		groups = need * 8 / 5 // a hash distributes the groups: the replica with the fewest must not run out of work too soon
	}
	if err := errors.Join(r.setWidth(ctx, wide), r.keep(ctx)); err != nil {
		return nil, err
	}
	r.Proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "CloneVM_Task" {
			return faultproxy.Fault{Delay: acceptance}
		}
		return faultproxy.Fault{}
	})
	defer r.Proxy.Hook(nil)
	if err := r.pile(ctx, fmt.Sprintf("own-%d", n), groups); err != nil {
		return nil, err
	}
	var moments []time.Time
	if err := r.waitFor(ctx, fmt.Sprintf("%d clones while all %d replicas have work", need, n), func() bool {
		done := r.clones()
		moments = together(deedsOf(done, true), n)
		return len(moments) >= need || len(done) >= groups
	}); err != nil {
		return nil, err
	}
	if len(moments) < need {
		return nil, fmt.Errorf("a replica ran out of work after %d of %d clones", len(moments), need)
	}
	r.Proxy.Hook(nil)
	return paces(moments, skip, stretch)[:stretches], r.clear(ctx)
}

// deedsOf returns the moments of calls, by process or all under one name.
func deedsOf(calls []failover.Call, apart bool) []deed {
	deeds := make([]deed, len(calls))
	for i, c := range calls {
		deeds[i].at = c.End
		if apart {
			deeds[i].by = c.Boot
		}
	}
	return deeds
}

// waitFor is await.Condition with this program's timeout, for conditions that cannot fail.
func (r *rig) waitFor(ctx context.Context, what string, condition func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return await.Condition(ctx, what, func(context.Context) (bool, error) { return condition(), nil })
}
