package world

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// drift is the relative error of clocks.
const drift = 0.02

// rounding is the error of timers: a bubble has one clock for all timers, and none waits for longer than a renewal
// interval.
const rounding = time.Duration(drift * float64(2*time.Second))

func stretched(d time.Duration, rate float64) time.Duration { return time.Duration(float64(d) / rate) }

// TestClocksThatDriftCostNobodyAnything: one is slow, one is fast. A takeover timeout ends by the observer's clock,
// a validity by the session's own.
func TestClocksThatDriftCostNobodyAnything(t *testing.T) {
	t.Parallel()
	for _, rates := range [][3]float64{{1 - drift, 1 + drift, 1}, {1 + drift, 1 - drift, 1}, {1, 1 - drift, 1 + drift}} {
		probers(t, 1, func(w *World) {
			victim := w.Start("a", Rate(rates[0]))
			w.Start("b", Rate(rates[1]))
			w.Start("c", Rate(rates[2]))
			if !w.Shared(time.Minute) {
				t.Fatal("they do not share everything")
			}
			calm := time.Now()
			w.look()
			w.Pass(2 * time.Minute)
			w.still(calm, "although only time went by")
			w.unshaken("although only time went by")
			lost := time.Now()
			victim.Link.Set(shardingtest.BlackHoled)
			defer w.endless(victim)()
			w.Pass(timings.Patience + 2*time.Second)
			end := victim.Link.Proven().Add(stretched(timings.Validity, rates[0]))
			for _, c := range w.VCenter.History().Of(victim.Boot).Calls {
				if late := c.End.Sub(end); late > rounding || c.Outcome == givenUp && late < -rounding {
					t.Errorf("a call was ended %s after the right to make it: %s", late, c)
				}
			}
			fastest := stretched(timings.Patience, max(rates[1], rates[2]))
			w.takenAfter(victim.Boot, lost, w.renewedAt(victim.Boot, time.Now()), fastest+firstTake-rounding, fastest+lastTake+rounding)
		})
	}
}

func TestATimeOfDayThatIsSetMovesNothing(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
			probers(t, seed, func(w *World) {
				victim, _, _ := three(w)
				w.Pass(20*time.Second + phase)
				set := time.Now()
				w.look()
				victim.Process.SetWall(by)
				w.Pass(timings.Renew + 4*trip)
				want := 0
				if by > 0 { // its validity has ended until the next renewal, which is due as usual
					want = victim.Status().Held
				}
				if gained, lost := victim.Changes(); gained != want || lost != 0 {
					t.Errorf("set by %s it has got back %d of %d buckets and lost %d", by, gained, victim.Status().Held, lost)
				}
				w.Pass(20 * time.Second)
				w.still(set, "because of the time of day")
				w.unshaken("because of the time of day")
				w.eachActs(2 * time.Second)
			})
		})
	}
}
