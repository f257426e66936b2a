//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/delay"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	kills, stops = 6, 5
	// stopGroups are created before each stop, so that calls are in flight.
	stopGroups = 24
	// late is the time until vCenter answers a started clone, so that calls are in flight.
	late = 2 * time.Second
	// underWay is the time after SIGTERM in which a call still counts as in flight, because a pass that was about to send it finishes.
	underWay = 100 * time.Millisecond
)

// handover measures how long groups have no owner when their replica is killed, and when it is stopped.
func handover(ctx context.Context, s *session, r *rig) error {
	if err := r.staff(ctx, s, 3); err != nil {
		return err
	}
	var longest []float64
	for i := range kills {
		gap, buckets, err := r.killBusiest(ctx)
		if err != nil {
			return err
		}
		longest = append(longest, gap.Seconds())
		s.say("  kill %d of %d: %d buckets, all owned again after %.2f s", i+1, kills, buckets, gap.Seconds())
	}
	where := "from SIGKILL until the shard map on the hub names a living owner for every bucket of it, default timings; the one of 3 replicas that holds most, which is started again afterwards; %d kills"
	s.add("failover/kill/median", median(longest), "s", noGoal, where, len(longest))
	s.add("failover/kill/worst", worst(longest), "s", atMost(12.5), where, len(longest))
	return handoverStopped(ctx, s, r)
}

// killBusiest kills the replica with the most buckets, waits until others own them, and starts it again.
func (r *rig) killBusiest(ctx context.Context) (longest time.Duration, buckets int, err error) {
	victim, boot := r.busiest()
	killed := time.Now()
	victim.Kill()
	gaps, err := r.ownedAgain(ctx, boot, killed)
	if err != nil {
		return 0, 0, err
	}
	return failover.Percentile(gaps, 1), len(gaps), r.revive(ctx, victim, boot)
}

// ownedAgain waits until others own the buckets that a process owned at a moment, and returns how long that took for each bucket.
func (r *rig) ownedAgain(ctx context.Context, boot string, moment time.Time) (gaps []failover.Gap, err error) {
	err = r.waitFor(ctx, "others to own what "+boot+" owned", func() bool {
		line := r.observer.Timeline()
		gaps = line.Ownerless(moment, line.Of(boot))
		return failover.Percentile(gaps, 1) < time.Hour
	})
	if err == nil && len(gaps) == 0 {
		err = fmt.Errorf("process %s owned nothing", boot)
	}
	return gaps, err
}

// handoverStopped measures stops during work.
func handoverStopped(ctx context.Context, s *session, r *rig) error {
	if err := errors.Join(r.setWidth(ctx, wide), r.keep(ctx)); err != nil {
		return err
	}
	r.Proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "CloneVM_Task" {
			return faultproxy.Fault{After: func() { _ = delay.For(ctx, late) }}
		}
		return faultproxy.Fault{}
	})
	defer r.Proxy.Hook(nil)
	var all stopped
	for i := range stops {
		one, err := r.stopBusiest(ctx, i)
		if err != nil {
			return err
		}
		s.say("  stop %d of %d: ended after %.2f s; longest without an owner: %.2f s of %d idle buckets, %.2f s of %d with a call in flight; %d calls aborted",
			i+1, stops, one.took.Seconds(), failover.Percentile(one.idle, 1).Seconds(), len(one.idle), failover.Percentile(one.busy, 1).Seconds(), len(one.busy), one.aborted)
		all.idle, all.busy, all.released = append(all.idle, one.idle...), append(all.busy, one.busy...), append(all.released, one.released...)
		all.aborted += one.aborted
		all.took = max(all.took, one.took)
	}
	if len(all.busy) == 0 {
		return errors.New("no call was in flight at any of the stops")
	}
	where := fmt.Sprintf("per bucket, and so per group of it, at the hub; the one of 3 replicas that holds most is stopped while %d one-VM groups are new and vCenter answers clones %s late; %d stops",
		stopGroups, late, stops)
	seconds := func(gaps []failover.Gap, share float64) float64 { return failover.Percentile(gaps, share).Seconds() }
	s.add("failover/stop/idle/p99", seconds(all.idle, 0.99), "s", atMost(0.5), "from SIGTERM until another owns it; %d buckets without a call in flight; %s", len(all.idle), where)
	s.add("failover/stop/idle/median", seconds(all.idle, 0.5), "s", noGoal, "as above")
	s.add("failover/stop/idle/worst", seconds(all.idle, 1), "s", noGoal, "as above")
	s.add("failover/stop/released/p99", seconds(all.released, 0.99), "s", noGoal, "from its release in the shard map until another owns it; all %d buckets; %s", len(all.released), where)
	s.add("failover/stop/in-flight/worst", seconds(all.busy, 1), "s", atMost(20), "from SIGTERM until another owns it; %d buckets with a call in flight at SIGTERM, or sent within %s of it by a pass that was under way; %s", len(all.busy), underWay, where)
	s.add("failover/stop/aborted", float64(all.aborted), "calls", atMost(0), "calls of the stopped process that it gave up, by the proxy; %s", where)
	s.add("failover/stop/process", all.took.Seconds(), "s", noGoal, "from SIGTERM until the process has ended; worst")
	r.Proxy.Hook(nil)
	return r.clear(ctx)
}

// stopped contains the measurements of stops.
type stopped struct {
	// idle and busy begin at SIGTERM, released at the release.
	idle, busy, released []failover.Gap
	aborted              int
	took                 time.Duration
}

// stopBusiest stops the replica with the most buckets while it has a call in flight, and starts it again.
func (r *rig) stopBusiest(ctx context.Context, i int) (one stopped, err error) {
	victim, boot := r.busiest()
	if err := r.pile(ctx, fmt.Sprintf("stop-%d", i), stopGroups); err != nil {
		return one, err
	}
	if err := r.waitFor(ctx, "a clone of "+victim.Name+" to be in flight", func() bool {
		// Take a young call: it must not end before the signal arrives.
		return slices.ContainsFunc(r.history(boot), func(c failover.Call) bool {
			return c.Method == "CloneVM_Task" && c.End.IsZero() && time.Since(c.Start) < late/2
		})
	}); err != nil {
		return one, err
	}
	at := time.Now()
	if err := victim.Stop(); err != nil { // one SIGTERM: a second one ends the manager immediately
		return one, err
	}
	one.took = time.Since(at)
	gaps, err := r.ownedAgain(ctx, boot, at)
	if err != nil {
		return one, err
	}
	buckets, err := r.bucketsOf(ctx)
	if err != nil {
		return one, err
	}
	calls := r.history(boot)
	busy := map[int]bool{}
	for group := range inFlight(calls, at, at.Add(underWay)) {
		busy[buckets[group]] = true
	}
	for _, gap := range gaps {
		if busy[gap.Bucket] {
			one.busy = append(one.busy, gap)
		} else {
			one.idle = append(one.idle, gap)
		}
	}
	line := r.observer.Timeline()
	one.released = line.Released(at, line.Of(boot))
	one.aborted = abortedAfter(calls, at)
	return one, r.revive(ctx, victim, boot)
}

func (r *rig) history(boot string) []failover.Call {
	return failover.NewHistory(r.Proxy.Records()).Of(boot).Calls
}

// inFlight returns the groups with calls in progress at any time between two moments.
func inFlight(calls []failover.Call, from, to time.Time) map[string]bool {
	groups := map[string]bool{}
	for _, c := range calls {
		if !c.Start.After(to) && (c.End.IsZero() || c.End.After(from)) {
			groups[c.Group] = true
		}
	}
	return groups
}

// abortedAfter counts the calls that the client gave up after a moment: the server had not finished, or never received the call.
func abortedAfter(calls []failover.Call, moment time.Time) int {
	n := 0
	for _, c := range calls {
		if c.End.IsZero() || c.End.After(moment) && (!c.Finished.IsZero() || c.Outcome == "cut before") {
			n++
		}
	}
	return n
}

// bucketsOf returns the bucket of each group, by its UID.
func (r *rig) bucketsOf(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for _, member := range r.Members {
		system := &corev1.Namespace{}
		if err := member.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
			return nil, err
		}
		groups := &v1alpha1.VmGroupList{}
		if err := member.List(ctx, groups); err != nil {
			return nil, err
		}
		for i := range groups.Items {
			g := &groups.Items[i]
			out[string(g.UID)] = ring.Bucket(string(system.UID), g.Namespace, g.Name, ringBuckets)
		}
	}
	return out, nil
}
