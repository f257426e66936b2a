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
	// No response arrives, and no error either.
	"black-holed": func(r *stack.Replica) {
		r.APIProxy.Hook(always(faultproxy.Fault{Act: faultproxy.Hang}))
		r.APIProxy.StallWatches(true)
	},
	// Writes arrive; responses do not.
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

// lose disconnects replicas from the hub. It returns a moment at which they were disconnected: later renewals were
// sent before.
func lose(way string, replicas ...*stack.Replica) (lost time.Time) {
	for _, r := range replicas {
		losses[way](r)
	}
	return time.Now()
}

func always(f faultproxy.Fault) func(localcluster.APICall) faultproxy.Fault {
	return func(localcluster.APICall) faultproxy.Fault { return f }
}

// reconnect ends the effects of losses.
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
