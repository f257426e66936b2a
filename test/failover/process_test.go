//go:build unix

package failover

import (
	"context"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/stack"
)

// takeover is within what time every bucket of a replica that is gone without a word is owned again.
func takeover() time.Duration { return scaled(12.5) + slack() }

// validity is for how long a replica may act after it has lost the hub. What it sends later it sends without a right. On its way to
// the proxy, which runs in this process, a call or the end of one may take a moment; a scaled run on a busy machine has half of
// what the protocol leaves until somebody else may act.
func validity() time.Duration {
	if *scale >= 1 {
		return scaled(8) + 100*time.Millisecond
	}
	return scaled(8) + scaled(2)
}

// ownedAgain waits until others hold what a process held at a moment, and checks how long that took each bucket.
func (s *tale) ownedAgain(boot string, moment time.Time, bound time.Duration) {
	s.Helper()
	var all []Gap
	s.until(s.Context(), "others to own what "+boot+" owned", func() bool {
		line := s.observer.Timeline()
		of := line.Of(boot)
		all = line.Ownerless(moment, func(session string) bool {
			// The ring may be seen before the Lease of a session that it names, which may be the process's own next one.
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
	if longest := Percentile(all, 1); longest > bound {
		s.Errorf("a bucket was without a live owner for %s, want at most %s", round(longest), round(bound))
	}
}

// newRights returns whether a call was made by a right that a process got after its pause. The observer may see the claim later
// than the proxy sees the call that it allows: the call's epoch tells, or that the process had written the ring before.
func (s *tale) newRights(ctx context.Context, victim *stack.Replica, line Timeline, paused, resumed time.Time) func(Call) bool {
	s.Helper()
	before, bucketOf := line.Rings[line.at(paused)].Ring, s.bucketOf(ctx)
	var wrote time.Time
	for _, r := range victim.APIProxy.Records() {
		if r.Resource == "configmaps" && r.Start.After(resumed) && r.Status/100 == 2 && (wrote.IsZero() || r.Start.Before(wrote)) {
			wrote = r.Start
		}
	}
	return func(c Call) bool {
		if c.Epoch == (Epoch{}) {
			return !wrote.IsZero() && c.Start.After(wrote)
		}
		bucket, ok := bucketOf[c.Group]
		return ok && c.Epoch.Compare(Epoch{before.Generation, before.Buckets[bucket].Number}) > 0
	}
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

func TestFailoverAKilledReplicasGroupsAreOwnedAgainInTime(t *testing.T) {
	ctx, s := story(t)
	victim := s.Replicas[1]
	boot, killed := s.bootOf(victim), time.Now()
	victim.Kill()
	s.ownedAgain(boot, killed, takeover())
	s.must(victim.Restart(ctx))
	s.untilShared(ctx)
	s.end(ctx)
}

// TestFailoverWhatChangesWhileNobodyOwnsAGroupIsDoneByTheNextOwner: the next owner saw the change when it could not act on it, and
// there is no other.
func TestFailoverWhatChangesWhileNobodyOwnsAGroupIsDoneByTheNextOwner(t *testing.T) {
	// work is what a taken group may take until vCenter is called, on a busy machine. Forgotten, it would wait far longer.
	const work = 20 * time.Second
	ctx, s := story(t)
	s.load.settle(ctx, t)
	victim := s.busiest(ctx)
	boot, killed := s.bootOf(victim), time.Now()
	victim.Kill()
	s.must(s.load.changeAll(ctx))
	s.ownedAgain(boot, killed, takeover())
	line, bucketOf := s.observer.Timeline(), s.bucketOf(ctx)
	orphaned := map[int]bool{}
	for _, gap := range line.Ownerless(killed, line.Of(boot)) {
		orphaned[gap.Bucket] = true
	}
	longest, groups := time.Duration(0), 0
	for uid, bucket := range bucketOf {
		if !orphaned[bucket] {
			continue
		}
		groups++
		var acted time.Time
		s.until(ctx, "the next owner to act on group "+uid, func() bool {
			for _, c := range s.history().byGroup()[uid] {
				if c.Start.After(killed) && c.Boot != boot {
					acted = c.Start
					return true
				}
			}
			return false
		})
		longest = max(longest, acted.Sub(killed))
	}
	s.Logf("the changes of %d groups without an owner reached vCenter within %s of the death", groups, round(longest))
	if groups == 0 {
		s.Error("no group was without an owner: the story says nothing")
	}
	if longest > takeover()+work {
		s.Errorf("a group had to wait for %s, want at most %s", round(longest), round(takeover()+work))
	}
	s.must(victim.Restart(ctx))
	s.untilShared(ctx)
	s.end(ctx)
}

func TestFailoverAStoppedReplicaHandsOverWhatIsIdleAtOnceAndFinishesWhatIsNot(t *testing.T) {
	// idle is for how long nobody owns a group for which nothing is in flight.
	const idle = 500 * time.Millisecond
	ctx, s := story(t)
	victim := s.busiest(ctx)
	boot := s.bootOf(victim)
	slow := s.slowCall(ctx, boot, "CloneVM_Task", scaled(5))
	began := slow.wait()
	stopped := time.Now()
	s.must(victim.Terminate())
	slow.count()
	select {
	case <-victim.Done():
	case <-ctx.Done():
		s.Fatal("it does not end")
	}
	s.must(victim.Stop()) // says how it ended
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
	if p99 := Percentile(line.Released(stopped, line.Of(boot)), 0.99); p99 > idle+moments() {
		s.Errorf("released groups had no owner for %s, want at most %s", round(p99), idle+moments())
	}
	// Before it releases anything the others have to know that it leaves, or they would give it back.
	if p99 := Percentile(quiet, 0.99); p99 > idle+scaled(2)+moments() {
		s.Errorf("idle groups got their next owner only after %s, want at most %s", round(p99), round(idle+scaled(2)+moments()))
	}
	if longest := Percentile(busy, 1); longest > scaled(20)+slack() {
		s.Errorf("a group with a call in flight had no other owner for %s, want at most %s", round(longest), scaled(20))
	}
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

// TestFailoverAPausedReplicaFindsThatItWasReplacedBeforeItActs pauses a process while vCenter works on a call of it, so that the
// first thing that it sees afterwards is an answer upon which more is to be done.
func TestFailoverAPausedReplicaFindsThatItWasReplacedBeforeItActs(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	for _, seconds := range []float64{5, 11, 13, 60} {
		victim := s.busiest(ctx)
		boot := s.bootOf(victim)
		length := scaled(seconds)
		if seconds == 13 {
			length += slack()
		}
		paused, resumed := s.pause(ctx, victim, length)
		for seconds < 8 && resumed.Sub(paused) > length+scaled(2) {
			// This process was held up, and the pause was not the short one that is to be tried.
			s.Logf("a pause of %s lasted %s: once more", round(length), round(resumed.Sub(paused)))
			s.untilShared(ctx)
			paused, resumed = s.pause(ctx, victim, length)
		}
		switch {
		case seconds < 8:
			s.pass(ctx, scaled(6))
			s.noMoves(paused, "although the pause was short")
		case seconds >= 13:
			s.replacedWhilePaused(ctx, victim, boot, paused, resumed)
		}
		s.untilShared(ctx)
	}
	same()
	s.end(ctx)
}

// pause pauses a process while vCenter works on a call of it, and lets it go on when the call was answered.
func (s *tale) pause(ctx context.Context, victim *stack.Replica, length time.Duration) (paused, resumed time.Time) {
	s.Helper()
	call := s.slowCall(ctx, s.bootOf(victim), "CloneVM_Task", scaled(1))
	call.wait()
	paused = time.Now()
	s.must(victim.Pause())
	call.count()
	s.pass(ctx, length)
	resumed = time.Now()
	s.must(victim.Continue())
	call.end()
	return paused, resumed
}

// replacedWhilePaused checks that others had taken over when a process went on, and that it did nothing that vCenter accepted
// before it owned something again.
func (s *tale) replacedWhilePaused(ctx context.Context, victim *stack.Replica, boot string, paused, resumed time.Time) {
	s.Helper()
	s.ownedAgain(boot, paused, takeover())
	line := s.observer.Timeline()
	for _, gap := range line.Ownerless(paused, line.Of(boot)) {
		if gap.To.After(resumed) {
			s.Errorf("bucket %d changed hands only %s after the pause", gap.Bucket, round(gap.To.Sub(resumed)))
		}
	}
	s.until(ctx, "the process to own something again", func() bool { return s.holds(boot) })
	line = s.observer.Timeline()
	of, again := line.Of(boot), time.Now()
	for _, m := range line.Moves(resumed) {
		if of(m.To) && m.At.Before(again) {
			again = m.At
		}
	}
	newer := s.newRights(ctx, victim, line, paused, resumed)
	for _, c := range s.history().Of(boot).methods("CloneVM_Task", "ReconfigVM_Task", "Destroy_Task").Calls {
		if c.Start.After(resumed) && c.Start.Before(again) && c.Accepted() && !newer(c) {
			s.Errorf("vCenter accepted what a process did %s after its pause, as if nothing had happened: %s", round(c.Start.Sub(resumed)), c)
		}
	}
}
