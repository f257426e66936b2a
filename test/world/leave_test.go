package world

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

// handover is the time from SIGTERM to the next owner of an idle group: the others learn that the replica leaves, a
// round trip, it releases, the news of that arrives, and the next owner writes the shard map. The two others can
// conflict.
const handover = 5*trip + 2*refused

// TestAReplicaThatEndsHandsOverWhatIsIdleAtOnceAndTheRestWhenItsCallHasEnded has one call of five seconds in flight.
func TestAReplicaThatEndsHandsOverWhatIsIdleAtOnceAndTheRestWhenItsCallHasEnded(t *testing.T) {
	t.Parallel()
	const slow = 5 * time.Second
	phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
		probers(t, seed, func(w *World) {
			victim, _, _ := three(w)
			w.VCenter.OnCall(func(c history.Call) (Travel, bool) { return Travel{}, c.Method == "Touch" }) // idle
			w.Pass(20*time.Second + phase)
			var busy string
			w.VCenter.OnCall(func(c history.Call) (Travel, bool) {
				if c.Boot != victim.Boot || busy != "" {
					return Travel{}, false
				}
				busy = c.Group
				return Travel{time.Millisecond, slow}, true
			})
			w.Pass(2 * probeEvery)
			asked := time.Now()
			victim.Terminate()
			<-victim.Done()
			if victim.Drained != nil {
				t.Errorf("it did not hand over everything: %v", victim.Drained)
			}
			w.Pass(time.Second)
			var ended time.Time
			for _, c := range w.VCenter.History().Of(victim.Boot).Calls {
				if c.Outcome != "ok" {
					t.Errorf("aborted half-way: %s", c)
				}
				if c.End.Sub(c.Start) > slow {
					ended = c.End
				}
			}
			for _, gap := range w.gaps(victim.Boot, asked) {
				switch {
				case w.probes[gap.Bucket].Name != busy:
					if gap.Length() > handover {
						t.Errorf("idle bucket %d got its next owner after %s, want at most %s", gap.Bucket, gap.Length(), handover)
					}
				case gap.To.Before(ended), gap.To.Sub(ended) > handover:
					t.Errorf("the busy bucket got its next owner %s after its call had ended, want 0 to %s", gap.To.Sub(ended), handover)
				}
			}
			if late := victim.Ended.Sub(ended); late > handover {
				t.Errorf("it ended %s after its last call, want at most %s", late, handover)
			}
		})
	})
}

// TestAReplicaThatEndsWaitsForACallOnlySoLong then cancels the call, and hands over its buckets.
func TestAReplicaThatEndsWaitsForACallOnlySoLong(t *testing.T) {
	t.Parallel()
	probers(t, 1, func(w *World) {
		victim, _, _ := three(w)
		w.Pass(20 * time.Second)
		end := w.endless(victim)
		w.Pass(5 * time.Second)
		asked := time.Now()
		victim.Terminate()
		<-victim.Done()
		end()
		if took := victim.Ended.Sub(asked); victim.Drained == nil || took < timings.Drain || took > timings.Drain+handover {
			t.Errorf("it ended after %s, want %s; drained: %v", took, timings.Drain, victim.Drained)
		}
		w.Pass(time.Second)
		if late := longest(w.gaps(victim.Boot, asked)); late > timings.Drain+handover {
			t.Errorf("a bucket got its next owner after %s, want at most %s", late, timings.Drain+handover)
		}
	})
}
