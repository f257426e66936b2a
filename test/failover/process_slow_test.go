//go:build unix && slow

package failover

import (
	"context"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// newRights reports whether a call was made by a right that a process got after its pause. The observer can see the
// claim later than the proxy sees the call that it allows. The call's epoch shows it, or an earlier write of the shard
// map by the process.
func (s *tale) newRights(ctx context.Context, victim *stack.Replica, line Timeline, paused, resumed time.Time) func(Call) bool {
	s.Helper()
	before, bucketOf := line.Rings[line.At(paused)].Ring, s.bucketOf(ctx)
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
		return ok && c.Epoch.Compare(Epoch{Generation: before.Generation, Number: before.Buckets[bucket].Number}) > 0
	}
}

// TestFailoverWhatChangesWhileNobodyOwnsAGroupIsDoneByTheNextOwner: the next owner saw the change when it could not act
// on it, and no other event follows.
func TestFailoverWhatChangesWhileNobodyOwnsAGroupIsDoneByTheNextOwner(t *testing.T) {
	// work is the maximum time from a takeover to the call of vCenter, on a busy machine. A forgotten group would wait
	// far longer.
	const work = 20 * time.Second
	ctx, s := story(t)
	s.load.settle(ctx, t)
	victim := s.busiest(ctx)
	boot, killed := s.bootOf(victim), time.Now()
	victim.Kill()
	s.must(s.load.changeAll(ctx))
	s.ownedAgain(boot, killed)
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
			for _, c := range s.history().ByGroup()[uid] {
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
	s.atMost("a group had to wait for", longest, takeover+work)
	s.must(victim.Restart(ctx))
	s.untilShared(ctx)
	s.end(ctx)
}

// TestFailoverAPausedReplicaFindsThatItWasReplacedBeforeItActs pauses a process during a call to vCenter, so that the
// first event afterwards is a response that requires further actions.
func TestFailoverAPausedReplicaFindsThatItWasReplacedBeforeItActs(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	for _, length := range []time.Duration{5 * time.Second, 11 * time.Second, 13 * time.Second, time.Minute} {
		victim := s.busiest(ctx)
		boot := s.bootOf(victim)
		paused, resumed := s.pause(ctx, victim, length)
		for length < 8*time.Second && resumed.Sub(paused) > length+2*time.Second {
			// This process was delayed, and the pause was longer than the short one under test.
			s.Logf("a pause of %s lasted %s: once more", round(length), round(resumed.Sub(paused)))
			s.untilShared(ctx)
			paused, resumed = s.pause(ctx, victim, length)
		}
		switch {
		case length < 8*time.Second:
			s.pass(ctx, 6*time.Second)
			s.noMoves(paused, "although the pause was short")
		case length >= 13*time.Second:
			s.replacedWhilePaused(ctx, victim, boot, paused, resumed)
		}
		s.untilShared(ctx)
	}
	same()
	s.end(ctx)
}

// pause pauses a process while vCenter works on a call of it, and resumes it when the call was answered.
func (s *tale) pause(ctx context.Context, victim *stack.Replica, length time.Duration) (paused, resumed time.Time) {
	s.Helper()
	call := s.slowCall(ctx, s.bootOf(victim), "CloneVM_Task", 1*time.Second)
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

// replacedWhilePaused checks that others had taken over when a process resumed, and that vCenter accepted no call of it
// before it owned something again.
func (s *tale) replacedWhilePaused(ctx context.Context, victim *stack.Replica, boot string, paused, resumed time.Time) {
	s.Helper()
	s.ownedAgain(boot, paused)
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
	for _, c := range s.history().Of(boot).Methods("CloneVM_Task", "ReconfigVM_Task", "Destroy_Task").Calls {
		if c.Start.After(resumed) && c.Start.Before(again) && c.Accepted() && !newer(c) {
			s.Errorf("vCenter accepted what a process did %s after its pause, as if nothing had happened: %s", round(c.Start.Sub(resumed)), c)
		}
	}
}
