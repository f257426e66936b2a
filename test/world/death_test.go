package world

import (
	"testing"
	"time"
)

func TestAKilledReplicasBucketsAreTakenExactlyOnePatienceAfterItsLastRenewal(t *testing.T) {
	t.Parallel()
	phases(t, 8, func(t *testing.T, seed uint64, phase time.Duration) {
		probers(t, seed, func(w *World) {
			victim, _, _ := three(w)
			w.Pass(20*time.Second + phase)
			died := time.Now()
			victim.Kill()
			w.Pass(timings.Patience + time.Second)
			w.takenAfter(victim.Boot, died, w.renewedAt(victim.Boot, died), timings.Patience+firstTake, timings.Patience+lastTake)
		})
	})
}

func TestAProvenDeathShortensThePatience(t *testing.T) {
	t.Parallel()
	for _, proven := range []time.Duration{300 * time.Millisecond, 4 * time.Second} {
		probers(t, 1, func(w *World) {
			victim, b, c := three(w)
			w.Pass(20 * time.Second)
			session, died := victim.Session(), time.Now()
			victim.Kill()
			w.Pass(proven)
			for _, r := range []*Replica{b, c} {
				if !r.DeathProven(session) {
					t.Error("the proof is not believed")
				}
			}
			w.Pass(timings.Patience)
			renewed := w.renewedAt(victim.Boot, died)
			// Without the trip of the last renewal's news, if that was long ago.
			soonest := max(timings.Proven+firstTake, proven+died.Sub(renewed)+firstTake-trip)
			w.takenAfter(victim.Boot, died, renewed, soonest, soonest+lastTake-firstTake)
		})
	}
}

func TestAProofThatIsFalseTakesNothingFromTheLiving(t *testing.T) {
	t.Parallel()
	probers(t, 1, func(w *World) {
		a, b, c := three(w)
		w.Pass(20 * time.Second)
		said := time.Now()
		w.look()
		for range 20 {
			b.DeathProven(a.Session())
			c.DeathProven(a.Session())
			w.Pass(500 * time.Millisecond)
		}
		w.still(said, "because its holder was reported dead")
		w.unshaken("because a replica was reported dead")
		// A report that was false once is not believed when it is true.
		died := time.Now()
		a.Kill()
		if b.DeathProven(a.Session()) {
			t.Error("who was called dead and lived is believed to be dead")
		}
		w.Pass(timings.Patience + time.Second)
		w.takenAfter(a.Boot, died, w.renewedAt(a.Boot, died), timings.Patience+firstTake, timings.Patience+lastTake)
	})
}
