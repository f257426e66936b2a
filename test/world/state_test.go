package world

import (
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

const (
	// remade is the time from the expiry of the takeover timeout of ended sessions until their first buckets are taken.
	// The news of their end took a trip, and at least two are fenced in a round trip. The shard map is read before the
	// last of these responses, and then written.
	remade = 8 * trip
	// lastOfThree is how much later the last is taken. The third session is fenced later than the first two, so each of
	// the three takes at most twice. The last of these six writes was rejected at most once for each write of the two
	// others.
	lastOfThree = 2*trip + 4*refused
)

func TestDeletedLeasesAreMadeAnew(t *testing.T) {
	t.Parallel()
	phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
		probers(t, seed, func(w *World) {
			three(w)
			w.Pass(20*time.Second + phase)
			deleted := time.Now()
			old := w.Hub.DeleteLeases()
			w.Pass(20 * time.Second)
			gaps := w.Timeline().Ownerless(deleted, func(session string) bool { return slices.Contains(old, session) })
			if len(gaps) != buckets || shortest(gaps) < timings.Patience+remade || longest(gaps) > timings.Patience+remade+lastOfThree {
				t.Errorf("%d buckets were taken %s to %s after their sessions were deleted, want %s to %s", len(gaps), shortest(gaps), longest(gaps),
					timings.Patience+remade, timings.Patience+remade+lastOfThree)
			}
			if !w.Shared(time.Minute) {
				t.Error("they do not share everything")
			}
			w.eachActs(2 * time.Second)
		})
	})
}

// claims returns when the first and the last bucket of a shard map above a generation were claimed.
func (w *World) claims(generation int64) (first, last time.Time, reached int64) {
	held := map[int]bool{}
	for _, seen := range w.Timeline().Rings {
		if seen.Ring == nil || seen.Ring.Generation <= generation {
			continue
		}
		reached = seen.Ring.Generation
		for b, slot := range seen.Ring.Buckets {
			if slot.Holder != "" && !held[b] {
				held[b] = true
				if first.IsZero() {
					first = seen.At
				}
				last = seen.At
			}
		}
	}
	if len(held) < buckets {
		last = time.Time{}
	}
	return first, last, reached
}

// rebuilt checks when the buckets of a new shard map were claimed after the old one was lost: not before all replicas
// of the old one had to stop, with one takeover timeout in reserve; and then at once. noticed is the time to detect the
// loss and to create the new one.
func (w *World) rebuilt(first, last time.Duration, generations int64, noticed time.Duration) {
	w.t.Helper()
	if generations != 1 {
		w.t.Errorf("the generation rose by %d, want 1", generations)
	}
	if latest := timings.Patience + noticed + lastOfThree; first < timings.Patience || last < first || last > latest {
		w.t.Errorf("buckets were claimed %s to %s after the loss, want %s to %s", first, last, timings.Patience, latest)
	}
}

func TestADeletedRingIsRebuiltWithAHigherGeneration(t *testing.T) {
	t.Parallel()
	phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
		probers(t, seed, func(w *World) {
			three(w)
			w.Pass(20*time.Second + phase)
			generation, deleted := w.Timeline().Now().Generation, time.Now()
			w.Hub.DeleteRing()
			w.Pass(30 * time.Second)
			first, last, reached := w.claims(generation)
			w.rebuilt(first.Sub(deleted), last.Sub(deleted), reached-generation, 6*trip)
			if !w.Shared(time.Minute) {
				t.Error("they do not share everything")
			}
			w.eachActs(2 * time.Second)
		})
	})
}

func TestARestoredHubIsNoticed(t *testing.T) {
	t.Parallel()
	phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
		probers(t, seed, func(w *World) {
			a, b, _ := three(w)
			w.Pass(20 * time.Second)
			backup := w.Hub.Backup()
			for _, r := range []*Replica{a, b} {
				r.Kill()
				w.Pass(timings.Patience + time.Second)
				w.Start(r.Name)
				if !w.Shared(time.Minute) {
					t.Fatal("they do not share everything")
				}
			}
			w.Pass(phase)
			for _, r := range w.Alive() {
				r.Link.Set(shardingtest.Refused)
			}
			w.Pass(5 * time.Second)
			generation, restored := w.Timeline().Now().Generation, time.Now()
			w.Hub.Restore(backup)
			for _, r := range w.Alive() {
				r.Link.Set(shardingtest.Fine)
			}
			w.Pass(60 * time.Second)
			first, last, reached := w.claims(generation)
			w.rebuilt(first.Sub(restored), last.Sub(restored), reached-generation, timings.Renew/4*3/2)
			if !w.Shared(time.Minute) {
				t.Error("they do not share everything")
			}
			w.eachActs(2 * time.Second)
		})
	})
}

// TestReplicasThatHaveSeenNothingLearnFromGroupsThatTheHubIsAnOldOne: all replicas have ended, and the hub is restored
// to a time before groups changed hands. Only the groups show that later epochs were given.
func TestReplicasThatHaveSeenNothingLearnFromGroupsThatTheHubIsAnOldOne(t *testing.T) {
	t.Parallel()
	operators(t, 1, func(w *World) {
		const groups = 6
		a, b, c := three(w)
		w.create(groups)
		w.Pass(20 * time.Second)
		backup := w.Hub.Backup()
		for _, r := range []*Replica{a, b} {
			r.Kill()
			w.Pass(timings.Patience + time.Second)
			w.Start(r.Name)
			if !w.Shared(time.Minute) {
				t.Fatal("they do not share everything")
			}
		}
		for i := range groups {
			w.scale(group(i), 3) // the epoch is stored with the intent
		}
		if _, ok := w.Settle(time.Minute); !ok {
			t.Fatal(sentences(w.Unsettled()))
		}
		generation := w.Timeline().Now().Generation
		for _, r := range w.Alive() {
			r.Kill()
		}
		w.Hub.Restore(backup)
		for _, r := range []*Replica{a, b, c} {
			w.Start(r.Name)
		}
		for i := range groups {
			w.scale(group(i), 1)
		}
		if took, ok := w.Settle(time.Minute); !ok {
			t.Errorf("after %s: %s", took, sentences(w.Unsettled()))
		}
		if reached := w.Timeline().Now().Generation; reached <= generation {
			t.Errorf("the generation is %d, and groups carry epochs of %d", reached, generation)
		}
	})
}
