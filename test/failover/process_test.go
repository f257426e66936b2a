//go:build unix

package failover

import (
	"testing"
	"time"
)

const (
	// takeover is the maximum time until every bucket of a crashed replica has an owner again.
	takeover = 12500 * time.Millisecond
	// validity is how long a replica can act after it has lost the hub. It has no right to later calls.
	validity = 8*time.Second + courtesy
)

// atMost enforces a bound of real time, if such bounds are enabled.
func (s *tale) atMost(what string, got, bound time.Duration) {
	s.Helper()
	if bounded && got > bound {
		s.Errorf("%s %s, want at most %s", what, round(got), round(bound))
	}
}

// ownedAgain waits until others hold the buckets that a process held at a moment, and checks the duration for each.
func (s *tale) ownedAgain(boot string, moment time.Time) {
	s.Helper()
	var all []Gap
	s.until(s.Context(), "others to own what "+boot+" owned", func() bool {
		line := s.observer.Timeline()
		of := line.Of(boot)
		all = line.Ownerless(moment, func(session string) bool {
			// The shard map can be seen before the Lease of a session that it names, which can be the process's own
			// next one.
			_, known := line.Sessions[session]
			return !known || of(session)
		})
		return Percentile(all, 1) < time.Hour
	})
	if len(all) == 0 {
		s.Fatalf("boot %s owned nothing", boot)
	}
	s.Logf("%d buckets were without a live owner for %s (median), %s (p99), %s (longest)", len(all), round(Percentile(all, 0.5)),
		round(Percentile(all, 0.99)), round(Percentile(all, 1)))
	s.atMost("a bucket was without a live owner for", Percentile(all, 1), takeover)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

func TestFailoverAKilledReplicasGroupsAreOwnedAgainInTime(t *testing.T) {
	ctx, s := story(t)
	victim := s.Replicas[1]
	boot, killed := s.bootOf(victim), time.Now()
	victim.Kill()
	s.ownedAgain(boot, killed)
	s.must(victim.Restart(ctx))
	s.untilShared(ctx)
	s.end(ctx)
}

func TestFailoverAStoppedReplicaHandsOverWhatIsIdleAtOnceAndFinishesWhatIsNot(t *testing.T) {
	// idle is the time without an owner of a group without operations in flight.
	const idle = 500 * time.Millisecond
	ctx, s := story(t)
	victim := s.busiest(ctx)
	boot := s.bootOf(victim)
	slow := s.slowCall(ctx, boot, "CloneVM_Task", 5*time.Second)
	began := slow.wait()
	stopped := time.Now()
	s.must(victim.Terminate())
	slow.count()
	select {
	case <-victim.Done():
	case <-ctx.Done():
		s.Fatal("it does not end")
	}
	s.must(victim.Stop()) // reports how it ended
	s.Logf("it ended %s after SIGTERM", round(time.Since(stopped)))
	slow.end()
	s.until(ctx, "others to own what it owned", func() bool { return !s.holds(boot) && s.observer.Timeline().Shares()[""] == 0 })

	var quiet, busy []Gap
	line, inFlight := s.observer.Timeline(), s.inFlight(ctx, boot, stopped)
	for _, gap := range line.Ownerless(stopped, line.Of(boot)) {
		if inFlight[gap.Bucket] {
			busy = append(busy, gap)
		} else {
			quiet = append(quiet, gap)
		}
	}
	s.Logf("from SIGTERM to the next owner: %d idle buckets %s (median), %s (p99), %s (longest); %d with a call in flight %s (longest); "+
		"from release to the next owner: %s (p99)", len(quiet), round(Percentile(quiet, 0.5)), round(Percentile(quiet, 0.99)), round(Percentile(quiet, 1)),
		len(busy), round(Percentile(busy, 1)), round(Percentile(line.Released(stopped, line.Of(boot)), 0.99)))
	if len(busy) == 0 {
		s.Error("no call was in flight: the story says nothing")
	}
	s.atMost("released groups had no owner for", Percentile(line.Released(stopped, line.Of(boot)), 0.99), idle)
	// Before it releases anything, the others must know that it leaves, or they would return it.
	s.atMost("idle groups got their next owner only after", Percentile(quiet, 0.99), idle+2*time.Second)
	s.atMost("a group with a call in flight had no other owner for", Percentile(busy, 1), 20*time.Second)
	for _, c := range s.history().Of(boot).Calls {
		if c.End.After(stopped) && (!c.Finished.IsZero() || c.Outcome == "cut before") {
			s.Errorf("aborted half-way: %s", c)
		}
		if c.Start.Equal(began) && c.Outcome != "ok" {
			s.Errorf("the call in flight ended otherwise: %s", c)
		}
	}
	s.must(victim.Restart(ctx))
	s.untilShared(ctx)
	s.end(ctx)
}
