package protocol

import (
	"testing"
	"time"
)

// ownedWithin runs the world until all buckets are owned, and returns the duration.
func (s *sim) ownedWithin(most time.Duration) (time.Duration, []string) {
	const step = 10 * time.Millisecond
	start := s.now
	problems := s.owned()
	for problems != nil && s.now-start < most {
		s.until(s.now + step)
		problems = s.owned()
	}
	return s.now - start, problems
}

// TestKilledReplicaIsReplacedInTime: SIGKILL without other faults.
func TestKilledReplicaIsReplacedInTime(t *testing.T) {
	var longest time.Duration
	for seed := range uint64(40) {
		s := newSim(seed, calm(3, 12))
		s.until(60*time.Second + s.between(0, 2*time.Second))
		if problems := s.owned(); problems != nil {
			t.Fatalf("seed %d: before the fault: %v", seed, problems)
		}
		s.processes[seed%3].kill()
		took, problems := s.ownedWithin(20 * time.Second)
		longest = max(longest, took)
		if problems != nil || took > 12500*time.Millisecond {
			t.Errorf("seed %d: after %v: %v", seed, took, problems)
		}
	}
	t.Logf("the longest took %v", longest)
}

// TestDrainedReplicaLeavesNoGap: SIGTERM without calls in flight.
func TestDrainedReplicaLeavesNoGap(t *testing.T) {
	var longest time.Duration
	for seed := range uint64(40) {
		w := calm(3, 12)
		w.idle = true
		s := newSim(seed, w)
		s.until(60*time.Second + s.between(0, 2*time.Second))
		s.processes[seed%3].drain()
		var gap time.Duration
		const step = 5 * time.Millisecond
		for range 5 * time.Second / step {
			s.until(s.now + step)
			if s.owned() != nil {
				gap += step
			}
		}
		longest = max(longest, gap)
		if problems := s.owned(); problems != nil || gap > time.Second || gap == 0 {
			t.Errorf("seed %d: a gap of %v: %v", seed, gap, problems)
		}
		if !s.processes[seed%3].dead {
			t.Errorf("seed %d: it has not ended", seed)
		}
	}
	t.Logf("the longest took %v", longest)
}

// outageFences is the number of live replicas that are fenced after a hub outage of one minute.
func outageFences(t *testing.T, seed uint64) (alive int) {
	t.Helper()
	w := calm(4, 8)
	w.drift, w.chaos = 0.02, 110*time.Second
	w.faults = []fault{{at: 40 * time.Second, do: func(s *sim) { s.outage(time.Minute) }}}
	s := newSim(seed, w)
	s.until(95 * time.Second)
	for _, p := range s.processes {
		if p.replica.Valid(p.clock()) {
			t.Errorf("seed %d: %s acts without a hub", seed, p.name)
		}
	}
	s.until(150 * time.Second)
	if _, problems := s.ownedWithin(time.Second); problems != nil { // one bucket can be moving
		t.Errorf("seed %d: after the outage: %v", seed, problems)
	}
	for _, f := range s.record.fences {
		if f.alive {
			alive++
		}
	}
	return alive
}

func TestOutageOfTheHubFencesNobody(t *testing.T) {
	for seed := range uint64(60) {
		if n := outageFences(t, seed); n > 0 {
			t.Errorf("seed %d: %d live replicas were fenced", seed, n)
		}
	}
}

func TestJoiningAndLeavingMoveTheFewestBuckets(t *testing.T) {
	for _, c := range []struct{ replicas, buckets, joined, left int }{
		{1, 6, 3, 3}, {2, 12, 4, 4}, {3, 12, 3, 3}, {3, 128, 32, 32}, {4, 128, 25, 25},
	} {
		w := calm(c.replicas, c.buckets)
		w.idle = true
		s := newSim(1, w)
		s.until(90 * time.Second)
		s.record.moves = 0
		joined := s.start(0)
		s.until(s.now + time.Minute)
		if problems := s.owned(); problems != nil || s.record.moves != c.joined {
			t.Errorf("%d and one more: %d of %d buckets moved, want %d; %v", c.replicas, s.record.moves, c.buckets, c.joined, problems)
		}
		s.record.moves = 0
		joined.drain()
		s.until(s.now + 30*time.Second)
		if problems := s.owned(); problems != nil || s.record.moves != c.left {
			t.Errorf("%d and one less: %d of %d buckets moved, want %d; %v", c.replicas+1, s.record.moves, c.buckets, c.left, problems)
		}
		writes := len(s.record.ringWrites)
		s.until(s.now + 2*time.Minute)
		if more := len(s.record.ringWrites) - writes; more > 0 {
			t.Errorf("%d replicas: %d writes of the shard map, although nothing was left to do", c.replicas, more)
		}
	}
}

// TestSuspendedMachineActsForAtMostOneValidity: both clocks stop, so the process cannot notice. No lease can prevent
// this; the test bounds and reports it.
func TestSuspendedMachineActsForAtMostOneValidity(t *testing.T) {
	histories, overlaps := 0, 0
	for seed := range uint64(60) {
		w := calm(3, 6)
		w.drift, w.chaos = 0.02, 90*time.Second
		s := newSim(seed, w)
		s.until(40 * time.Second)
		p := s.processes[seed%3]
		p.suspend(30*time.Second, true)
		resumed := s.now + 30*time.Second
		s.until(150 * time.Second)
		if problems := s.owned(); problems != nil {
			t.Errorf("seed %d: %v", seed, problems)
		}
		pairs := s.record.overlapping()
		histories += min(len(pairs), 1)
		overlaps += len(pairs)
		for _, pair := range pairs {
			if over := resumed + p.later(w.timings.Validity); pair[1].started > over || pair[0].process != p && pair[1].process != p {
				t.Errorf("seed %d: %s and %s act at once at %v, after %v", seed, pair[0].session, pair[1].session, pair[1].started, over)
			}
		}
	}
	t.Logf("calls overlap in %d of 60 histories, %d pairs", histories, overlaps)
}
