package world

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

var ways = map[string]shardingtest.Way{"refused": shardingtest.Refused, "black-holed": shardingtest.BlackHoled, "mute": shardingtest.Mute}

// endless makes the calls of a replica take longer than any right.
func (w *World) endless(r *Replica) (end func()) {
	return w.VCenter.OnCall(func(c history.Call) (Travel, bool) {
		return Travel{time.Millisecond, time.Minute}, c.Boot == r.Boot && c.Method == "Touch"
	})
}

// TestAReplicaThatLosesTheHubStopsExactlyOneValidityAfterItsLastWord has calls in flight that would take a minute: each
// ends with its right, to the millisecond. The others take over one takeover timeout after the last renewal that the
// hub saw.
func TestAReplicaThatLosesTheHubStopsExactlyOneValidityAfterItsLastWord(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
				probers(t, seed, func(w *World) {
					victim, _, _ := three(w)
					w.Pass(20*time.Second + phase)
					lost := time.Now()
					victim.Link.Set(way)
					end := w.endless(victim)
					w.Pass(15 * time.Second)
					end()
					proven := victim.Link.Proven()
					w.silentFrom(victim, proven.Add(timings.Validity-timings.Submit), proven.Add(timings.Validity), time.Now())
					cut := 0
					for _, c := range w.VCenter.History().Of(victim.Boot).Calls {
						if c.Outcome == givenUp {
							if cut++; !c.End.Equal(proven.Add(timings.Validity)) {
								t.Errorf("a call was ended %s after the last word, want %s: %s", c.End.Sub(proven), timings.Validity, c)
							}
						}
					}
					if cut == 0 {
						t.Error("no call was under way at the end: the story says nothing")
					}
					renewed := w.renewedAt(victim.Boot, time.Now())
					w.takenAfter(victim.Boot, lost, renewed, timings.Patience+firstTake, timings.Patience+lastTake)
					victim.Link.Set(shardingtest.Fine)
					if !w.Shared(time.Minute) {
						t.Error("it gets no share again")
					}
					w.eachActs(2 * time.Second)
				})
			})
		})
	}
}

func TestWithoutAHubAllStopAndGoOnWithWhatTheyHad(t *testing.T) {
	t.Parallel()
	// back is the maximum time until all act again. A lost request must time out. A failed one is retried after a
	// quarter of a renewal interval, or up to half as much more. A session whose renewal got lost is read before it is
	// written.
	back := map[string]time.Duration{
		"refused":     timings.Renew/4*3/2 + 4*trip,
		"black-holed": timings.Request + timings.Renew/4*3/2 + 4*trip,
		"mute":        timings.Request + timings.Renew/4*3/2 + 4*trip,
	}
	for name, way := range ways {
		for _, away := range []time.Duration{20 * time.Second, 10 * time.Minute} {
			t.Run(name, func(t *testing.T) {
				probers(t, 1, func(w *World) {
					a, b, c := three(w)
					w.Pass(20 * time.Second)
					lost := time.Now()
					w.look()
					for _, r := range []*Replica{a, b, c} {
						r.Link.Set(way)
					}
					w.Pass(away)
					for _, r := range []*Replica{a, b, c} {
						proven := r.Link.Proven()
						w.silentFrom(r, proven.Add(timings.Validity-timings.Submit), proven.Add(timings.Validity), time.Now())
						r.Link.Set(shardingtest.Fine)
					}
					w.eachActs(back[name])
					w.Pass(30 * time.Second)
					w.still(lost, "although no replica could take them")
					for _, r := range []*Replica{a, b, c} {
						if gained, lost := r.Changes(); lost > 0 || gained != r.Status().Held {
							t.Errorf("%s got back %d of %d buckets and lost %d", r.Name, gained, r.Status().Held, lost)
						}
					}
				})
			})
		}
	}
}

func TestStalledWatchesStealNothing(t *testing.T) {
	t.Parallel()
	probers(t, 1, func(w *World) {
		a, b, c := three(w)
		w.Pass(20 * time.Second)
		stalled := time.Now()
		w.look()
		a.Link.Stall(true)
		w.Pass(time.Minute)
		w.still(stalled, "while one replica's watches were stalled")
		b.Link.Stall(true)
		c.Link.Stall(true)
		w.Pass(time.Minute)
		w.still(stalled, "while all watches were stalled")
		w.eachActs(2 * time.Second)
		for _, r := range []*Replica{a, b, c} {
			r.Link.Stall(false)
		}
		w.Pass(20 * time.Second)
		w.still(stalled, "when watches continued")
		w.unshaken("because of watches")
	})
}

// TestASlowHubCostsNobodyAnything, as long as three consecutive responses arrive within validity, for two concurrent
// requests.
func TestASlowHubCostsNobodyAnything(t *testing.T) {
	t.Parallel()
	for _, answer := range []time.Duration{2500 * time.Millisecond, timings.Validity/3 - trip} {
		phases(t, 4, func(t *testing.T, seed uint64, phase time.Duration) {
			probers(t, seed, func(w *World) {
				a, b, c := three(w)
				w.Pass(20*time.Second + phase)
				slow := time.Now()
				w.look()
				for _, r := range []*Replica{a, b, c} {
					r.Link.Slow(answer / 2)
				}
				w.Pass(30 * time.Second)
				w.eachActs(4 * time.Second)
				for _, r := range []*Replica{a, b, c} {
					r.Link.Slow(trip)
				}
				w.Pass(20 * time.Second)
				w.still(slow, "while the hub was slow")
				w.unshaken("while the hub was slow")
			})
		})
	}
}

func TestAReplicaWithAnotherNumberOfBucketsStaysUnreadyAndDisturbsNobody(t *testing.T) {
	t.Parallel()
	probers(t, 1, func(w *World) {
		three(w)
		w.Pass(20 * time.Second)
		before := time.Now()
		w.look()
		odd := w.Start("odd", Buckets(2*buckets))
		for range 60 {
			w.Pass(time.Second)
			if odd.Problem() == "" || odd.Joined() || odd.Status().Held > 0 {
				t.Fatalf("problem %q, joined %t, holds %d", odd.Problem(), odd.Joined(), odd.Status().Held)
			}
		}
		odd.Kill()
		w.Pass(20 * time.Second)
		w.still(before, "because of a replica with other buckets")
		w.unshaken("because of a replica with other buckets")
		w.eachActs(2 * time.Second)
	})
}
