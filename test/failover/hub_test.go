//go:build unix

package failover

import (
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/stack"
)

// losses are ways to lose the hub.
var losses = map[string]func(*stack.Replica){
	"refused": func(r *stack.Replica) {
		r.APIProxy.Hook(always(faultproxy.Fault{Act: faultproxy.CutBefore}))
		r.APIProxy.CutWatches()
		r.APIProxy.CutConnections()
	},
	// Nothing answers, and nothing says that nothing will.
	"black-holed": func(r *stack.Replica) {
		r.APIProxy.Hook(always(faultproxy.Fault{Act: faultproxy.Hang}))
		r.APIProxy.StallWatches(true)
	},
	// What is written arrives; no answer does.
	"mute": func(r *stack.Replica) {
		r.APIProxy.Hook(func(c localcluster.APICall) faultproxy.Fault {
			if c.Verb == "watch" {
				return faultproxy.Fault{Act: faultproxy.Hang}
			}
			return faultproxy.Fault{Act: faultproxy.HangAfter}
		})
		r.APIProxy.StallWatches(true)
	},
}

// lose takes the hub away from replicas. It returns a moment at which they had lost it: what was renewed later was so before.
func lose(way string, replicas ...*stack.Replica) (lost time.Time) {
	for _, r := range replicas {
		losses[way](r)
	}
	return time.Now()
}

func always(f faultproxy.Fault) func(localcluster.APICall) faultproxy.Fault {
	return func(localcluster.APICall) faultproxy.Fault { return f }
}

// reconnect ends what losses did.
func reconnect(r *stack.Replica) {
	r.APIProxy.Hook(nil)
	r.APIProxy.StallWatches(false)
}

func TestFailoverAReplicaThatLosesTheHubStopsInTimeAndOthersGoOn(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	for i, name := range []string{"refused", "black-holed"} {
		victim := s.Replicas[i]
		boot := s.bootOf(victim)
		lost := lose(name, victim)
		s.ownedAgain(boot, lost, takeover())
		s.pass(ctx, scaled(4))
		back := time.Now()
		reconnect(victim)
		s.silentAfter(boot, lost.Add(validity()), back)
		s.untilShared(ctx)
	}
	same()
	s.end(ctx)
}

// TestFailoverAReplicaWhoseWritesArriveUnansweredStopsAsWell: each renewal is carried out and not known to be. Others see signs of
// life and take nothing; it must not act all the same, for it cannot know what else was done.
func TestFailoverAReplicaWhoseWritesArriveUnansweredStopsAsWell(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	victim := s.Replicas[2]
	boot := s.bootOf(victim)
	lost := lose("mute", victim)
	s.pass(ctx, scaled(20))
	back := time.Now()
	reconnect(victim)
	s.silentAfter(boot, lost.Add(validity()), back)
	s.untilShared(ctx)
	same()
	s.end(ctx)
}

func TestFailoverWithoutAHubAllStopAndGoOnAsTheyWere(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	for _, name := range []string{"refused", "black-holed"} {
		lost := lose(name, s.Replicas...)
		s.pass(ctx, scaled(20))
		back := time.Now()
		for _, r := range s.Replicas {
			reconnect(r)
		}
		for _, r := range s.Replicas {
			s.silentAfter(s.bootOf(r), lost.Add(validity()), back)
		}
		s.untilAllAct(back)
		s.pass(ctx, scaled(6))
		s.noMoves(lost, "although nobody was there to take them")
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
	s.pass(ctx, scaled(30))
	s.noMoves(stalled, "while one replica's watches were stalled")
	s.untilAllAct(time.Now())
	for _, r := range s.Replicas {
		r.APIProxy.StallWatches(true)
	}
	s.pass(ctx, scaled(30))
	s.noMoves(stalled, "while all watches were stalled")
	s.untilAllAct(time.Now())
	for _, r := range s.Replicas {
		r.APIProxy.StallWatches(false)
	}
	s.pass(ctx, scaled(4))
	s.noMoves(stalled, "when watches went on")
	same()
	s.end(ctx)
}

func TestFailoverASlowHubCostsNobodyAnything(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	slow := time.Now()
	// The answers to two renewals in a row must come within validity, 8 s. A scaled run leaves most of that to what else the
	// machine does.
	delay := scaled(2.5)
	if *scale < 1 {
		delay = scaled(0.75)
	}
	for _, r := range s.Replicas {
		r.APIProxy.Hook(always(faultproxy.Fault{Delay: delay}))
	}
	s.pass(ctx, scaled(30))
	s.untilAllAct(time.Now())
	for _, r := range s.Replicas {
		r.APIProxy.Hook(nil)
	}
	s.pass(ctx, scaled(4))
	s.noMoves(slow, "while the hub was slow")
	same()
	s.end(ctx)
}
