package world

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

// pause stops a replica for a duration.
func (w *World) pause(r *Replica, length time.Duration) (stopped, continued time.Time) {
	stopped = time.Now()
	r.Stop()
	w.Pass(length)
	continued = time.Now()
	r.Continue()
	return stopped, continued
}

func TestAPauseThatIsShorterThanThePatienceMovesNothing(t *testing.T) {
	t.Parallel()
	// Regardless of the age of the last renewal at its start.
	for _, length := range []time.Duration{5 * time.Second, timings.Patience - timings.Renew - 4*trip} {
		phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
			probers(t, seed, func(w *World) {
				victim, b, c := three(w)
				w.Pass(20*time.Second + phase)
				w.look()
				stopped, continued := w.pause(victim, length)
				w.Pass(20 * time.Second)
				w.still(stopped, "although the pause was short")
				if gained, lost := victim.Changes(); lost > 0 || gained > 0 && continued.Sub(w.renewedAt(victim.Boot, stopped)) < timings.Validity {
					t.Errorf("after %s it has lost %d buckets and got back %d", length, lost, gained)
				}
				for _, other := range []*Replica{b, c} {
					if gained, lost := other.Changes(); gained+lost > 0 {
						t.Errorf("%s gained %d and lost %d", other.Name, gained, lost)
					}
				}
				w.eachActs(2 * time.Second)
			})
		})
	}
}

func TestAReplicaThatWasReplacedWhileItWasPausedDoesNothingByItsOldRights(t *testing.T) {
	t.Parallel()
	for _, length := range []time.Duration{11 * time.Second, 13 * time.Second, time.Minute} {
		phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
			probers(t, seed, func(w *World) {
				victim, _, _ := three(w)
				w.Pass(20*time.Second + phase)
				line := w.Timeline()
				stopped, continued := w.pause(victim, length)
				before := line.Now()
				w.Pass(20 * time.Second)
				renewed := w.renewedAt(victim.Boot, stopped)
				if continued.Sub(renewed) < timings.Patience+firstTake {
					w.still(stopped, "although its takeover timeout had not ended")
				} else {
					w.takenAfter(victim.Boot, stopped, renewed, timings.Patience+firstTake, timings.Patience+lastTake)
				}
				for _, c := range w.VCenter.History().Of(victim.Boot).Calls {
					old := history.Epoch{Generation: before.Generation, Number: before.Buckets[w.bucketOf(c.Group)].Number}
					if !c.Start.Before(continued) && c.Epoch.Compare(old) <= 0 && continued.Sub(renewed) > timings.Patience+lastTake {
						t.Errorf("%s after the pause, it acted on a former epoch: %s", c.Start.Sub(continued), c)
						break
					}
				}
				if !w.Shared(time.Minute) {
					t.Error("it gets no share again")
				}
				w.eachActs(2 * time.Second)
			})
		})
	}
}

// bucketOf the object of a prober.
func (w *World) bucketOf(name string) int {
	for b, key := range w.probes {
		if key.Name == name {
			return b
		}
	}
	return -1
}
