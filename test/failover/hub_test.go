//go:build unix

package failover

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
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
	for i, name := range hardLosses {
		victim := s.Replicas[i]
		boot := s.bootOf(victim)
		lost := lose(name, victim)
		s.ownedAgain(boot, lost)
		s.pass(ctx, 4*time.Second)
		back := time.Now()
		reconnect(victim)
		s.silentAfter(boot, lost.Add(validity), back)
		s.untilShared(ctx)
	}
	same()
	s.end(ctx)
}
