//go:build unix && slow

package failover

import (
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
)

// TestFailoverAReplicaWhoseWritesArriveUnansweredStopsAsWell: its renewals are executed, but it does not get the
// responses. Others see it alive and take nothing. It must still not act, because it cannot know about other writes.
func TestFailoverAReplicaWhoseWritesArriveUnansweredStopsAsWell(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	victim := s.Replicas[2]
	boot := s.bootOf(victim)
	lost := lose("mute", victim)
	s.pass(ctx, 20*time.Second)
	back := time.Now()
	reconnect(victim)
	s.silentAfter(boot, lost.Add(validity), back)
	s.untilShared(ctx)
	same()
	s.end(ctx)
}

func TestFailoverWithoutAHubAllStopAndGoOnAsTheyWere(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	for _, name := range []string{"refused", "black-holed"} {
		lost := lose(name, s.Replicas...)
		s.pass(ctx, 20*time.Second)
		back := time.Now()
		for _, r := range s.Replicas {
			reconnect(r)
		}
		for _, r := range s.Replicas {
			s.silentAfter(s.bootOf(r), lost.Add(validity), back)
		}
		s.untilAllAct(back)
		s.pass(ctx, 6*time.Second)
		s.noMoves(lost, "although no replica could take them")
	}
	same()
	s.end(ctx)
}

// untilAllAct waits until every replica that owns a group now has called vCenter since a moment.
func (s *tale) untilAllAct(since time.Time) {
	s.Helper()
	ctx := s.Context()
	line := s.observer.Timeline()
	owners := map[string]bool{}
	for _, bucket := range s.bucketOf(ctx) {
		owners[line.Sessions[line.Now().Buckets[bucket].Holder].Host] = true
	}
	for _, r := range s.Replicas {
		if !owners[r.Name] {
			continue
		}
		boot := s.bootOf(r)
		s.until(ctx, r.Name+" to act", func() bool {
			return slices.ContainsFunc(s.history().Of(boot).Calls, func(c Call) bool { return c.Start.After(since) })
		})
	}
}

func TestFailoverStalledWatchesStealNothing(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	stalled := time.Now()
	s.Replicas[1].APIProxy.StallWatches(true)
	s.pass(ctx, 30*time.Second)
	s.noMoves(stalled, "while one replica's watches were stalled")
	s.untilAllAct(time.Now())
	for _, r := range s.Replicas {
		r.APIProxy.StallWatches(true)
	}
	s.pass(ctx, 30*time.Second)
	s.noMoves(stalled, "while all watches were stalled")
	s.untilAllAct(time.Now())
	for _, r := range s.Replicas {
		r.APIProxy.StallWatches(false)
	}
	s.pass(ctx, 4*time.Second)
	s.noMoves(stalled, "when watches continued")
	same()
	s.end(ctx)
}

func TestFailoverASlowHubCostsNobodyAnything(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	slow := time.Now()
	// The responses to two consecutive renewals must arrive within validity, 8 s.
	for _, r := range s.Replicas {
		r.APIProxy.Hook(always(faultproxy.Fault{Delay: 2500 * time.Millisecond}))
	}
	s.pass(ctx, 30*time.Second)
	s.untilAllAct(time.Now())
	for _, r := range s.Replicas {
		r.APIProxy.Hook(nil)
	}
	s.pass(ctx, 4*time.Second)
	s.noMoves(slow, "while the hub was slow")
	same()
	s.end(ctx)
}
