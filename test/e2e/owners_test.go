//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// clock is the format of moments in reports.
const clock = "15:04:05.000"

// untilShared waits until three replicas share all buckets evenly.
func untilShared(t *testing.T, hosts ...string) {
	t.Helper()
	await.Until(t, "the replicas to share the groups", func(context.Context) (bool, error) {
		shares := world.observer.Timeline().Shares()
		if shares[""] > 0 || len(shares) != 3 {
			return false, nil
		}
		for _, host := range hosts {
			if shares[host] == 0 {
				return false, nil
			}
		}
		return true, nil
	}, func() string { return fmt.Sprint(world.observer.Timeline().Shares()) })
}

// bootOf is the process named in a Pod's session.
func bootOf(t *testing.T, pod string) string {
	t.Helper()
	boot := world.observer.Timeline().BootOf(pod)
	if boot == "" {
		t.Fatalf("Pod %s has no session", pod)
	}
	return boot
}

// renewal is the last renewal of a process's session by its own clock: others can see it later.
func renewal(t *testing.T, boot string) time.Time {
	t.Helper()
	var last failover.Session
	for _, session := range world.observer.Timeline().Sessions {
		if session.Boot == boot && session.Changed.After(last.Changed) {
			last = session
		}
	}
	if last.Name == "" {
		t.Fatalf("process %s has no session", boot)
	}
	lease := &coordinationv1.Lease{}
	must(t, world.hub.Get(t.Context(), ref(namespace, failover.LeasePrefix+last.Name), lease))
	if lease.Spec.RenewTime == nil {
		t.Fatalf("the session of process %s has no time of renewal", boot)
	}
	return lease.Spec.RenewTime.Time
}

// untilTakenOver waits until others hold all buckets that a process held at a moment, and returns how long each was
// without an owner.
func untilTakenOver(t *testing.T, moment time.Time, boot string) []failover.Gap {
	t.Helper()
	var gaps []failover.Gap
	await.Until(t, "others to take over", func(context.Context) (bool, error) {
		line := world.observer.Timeline()
		gaps = line.Ownerless(moment, line.Of(boot))
		for _, g := range gaps {
			if g.To.IsZero() {
				return false, nil
			}
		}
		return len(gaps) > 0, nil
	}, func() string { return fmt.Sprintf("%d buckets, %v", len(gaps), world.observer.Timeline().Shares()) })
	return gaps
}

// untilNobodyIs waits until an ended process holds no buckets.
func untilNobodyIs(t *testing.T, boot string, ended time.Time) {
	t.Helper()
	await.Until(t, "others to take over from "+boot, func(context.Context) (bool, error) {
		line := world.observer.Timeline()
		for _, g := range line.Ownerless(ended, line.Of(boot)) {
			if g.To.IsZero() {
				return false, nil
			}
		}
		return true, nil
	})
}

// longest logs and returns the longest of some gaps.
func longest(t *testing.T, what string, gaps []failover.Gap) time.Duration {
	t.Helper()
	gaps = world.pulse.shorten(gaps)
	most := failover.Percentile(gaps, 1)
	t.Logf("%s: %d buckets, median %s, p99 %s, longest %s", what, len(gaps), round(failover.Percentile(gaps, 0.5)),
		round(failover.Percentile(gaps, 0.99)), round(most))
	return most
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

const (
	// withoutOwner is the maximum time without an owner during planned restarts of replicas, for 99 of 100 handovers.
	withoutOwner = 2 * time.Second
	// withCallInFlight is the same for a group with a call in flight, which delays the handover.
	withCallInFlight = 20 * time.Second
)

// handedOver fails unless the processes handed over all their buckets since a moment themselves, with gaps within the
// promised bounds. All handovers since then count, not only those of the named processes.
func handedOver(t *testing.T, what string, since time.Time, boots ...string) {
	t.Helper()
	var line failover.Timeline
	var gaps []failover.Gap
	// New replicas can still be receiving their share.
	await.Until(t, "no handover to be under way", func(context.Context) (bool, error) {
		line = world.observer.Timeline()
		gaps = handovers(line, since)
		return !slices.ContainsFunc(gaps, func(g failover.Gap) bool { return g.To.IsZero() }), nil
	}, func() string { return fmt.Sprint(line.Shares()) })
	leaving := line.Of(boots...)
	for _, session := range line.Sessions {
		if session.State == "fenced" && leaving(session.Name) {
			t.Errorf("%s: session %s of %s was fenced; it did not hand over", what, session.Name, session.Host)
		}
	}
	if len(gaps) == 0 {
		t.Fatalf("%s: nothing was handed over", what)
	}
	if most := longest(t, what, gaps); most > withCallInFlight {
		t.Errorf("%s: a group had no owner for %s, want %s at most", what, most, withCallInFlight)
	}
	if p99 := failover.Percentile(world.pulse.shorten(gaps), 0.99); p99 > withoutOwner {
		t.Errorf("%s: p99 of the time without owner is %s, want %s at most", what, p99, withoutOwner)
	}
}

// handovers are all changes of a bucket's holder since a moment, with the time without a holder.
func handovers(line failover.Timeline, since time.Time) (gaps []failover.Gap) {
	open := map[int]failover.Gap{}
	for _, m := range line.Moves(since) {
		gap, began := open[m.Bucket]
		if !began {
			gap = failover.Gap{Bucket: m.Bucket, From: m.At}
		}
		if m.To == "" {
			open[m.Bucket] = gap
			continue
		}
		delete(open, m.Bucket)
		gap.To, gap.Owner = m.At, m.To
		gaps = append(gaps, gap)
	}
	for _, gap := range open {
		gaps = append(gaps, gap)
	}
	return gaps
}

// silentSince fails if a process sent a call that changes something after a moment, and before it was given buckets again: a resumed
// process begins another session and takes its share. The observer sees that later than the process, by a second at most.
func silentSince(t *testing.T, boot string, moment time.Time) {
	t.Helper()
	line, again := world.observer.Timeline(), time.Now()
	of := line.Of(boot)
	for _, m := range line.Moves(moment) {
		if of(m.To) {
			again = m.At.Add(-time.Second - world.pulse.lost(moment, m.At))
			break
		}
	}
	for _, c := range failover.NewHistory(world.proxy.Records()).Of(boot).Calls {
		if c.Start.After(moment) && c.Start.Before(again) {
			t.Errorf("%s after its right to act had ended: %s", c.Start.Sub(moment), c)
		}
	}
}
