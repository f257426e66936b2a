package world

import (
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

// create creates groups that want two VMs each, and waits for these.
func (w *World) create(groups int) {
	w.t.Helper()
	for i := range groups {
		w.Member.Create(group(i), 2)
	}
	if _, ok := w.Settle(time.Minute); !ok {
		w.t.Fatalf("a minute later: %s", sentences(w.Unsettled()))
	}
}

// scale sets a group's number of VMs.
func (w *World) scale(name string, vms int32) {
	w.t.Helper()
	if err := w.Member.Scale(name, vms); err != nil {
		w.t.Fatal(err)
	}
}

// holder of a group.
func (w *World) holder(name string) *Replica {
	for _, r := range w.Alive() {
		if r.Holds(sharding.Key{ClusterUID: clusterUID, Namespace: namespace, Name: name}) {
			return r
		}
	}
	return nil
}

// of returns the groups of a replica, out of n.
func (w *World) of(r *Replica, groups int) (names []string) {
	for i := range groups {
		if w.holder(group(i)) == r {
			names = append(names, group(i))
		}
	}
	return names
}

func (w *World) uid(name string) string {
	w.t.Helper()
	g := w.Member.Group(name)
	if g == nil {
		w.t.Fatalf("there is no group %s", name)
	}
	return string(g.UID)
}

// pickUp is the time from the moment when the shard map names the next owner of a group to its first call: it receives
// the response, stores its intent, a round trip, and calls.
const pickUp = trip + 2*apiTrip

func TestWhatChangesWhileNobodyOwnsAGroupIsDoneByItsNextOwnerAtOnce(t *testing.T) {
	t.Parallel()
	phases(t, 2, func(t *testing.T, seed uint64, phase time.Duration) {
		operators(t, seed, func(w *World) {
			const groups = 12
			victim, _, _ := three(w)
			w.create(groups)
			w.Pass(20*time.Second + phase)
			orphans := w.of(victim, groups)
			died := time.Now()
			victim.Kill()
			w.Pass(time.Second)
			for _, name := range orphans {
				w.scale(name, 3)
			}
			w.Pass(timings.Patience + time.Second)
			w.takenAfter(victim.Boot, died, w.renewedAt(victim.Boot, died), timings.Patience+firstTake, timings.Patience+lastTake)
			taken := map[int]time.Time{}
			for _, gap := range w.gaps(victim.Boot, died) {
				taken[gap.Bucket] = gap.To
			}
			calls := w.VCenter.History().ByGroup()
			for _, name := range orphans {
				b := bucketOf(sharding.Key{ClusterUID: clusterUID, Namespace: namespace, Name: name})
				i := slices.IndexFunc(calls[w.uid(name)], func(c history.Call) bool { return c.Start.After(died) })
				if i < 0 {
					t.Errorf("no call for %s", name)
				} else if late := calls[w.uid(name)][i].Start.Sub(taken[b]); late > pickUp {
					t.Errorf("%s had its owner for %s until something was done, want %s", name, late, pickUp)
				}
			}
			if len(orphans) == 0 {
				t.Error("it held no group: the story says nothing")
			}
		})
	})
}

func TestAReplicaThatHasLostItsBucketsReconcilesNothing(t *testing.T) {
	t.Parallel()
	operators(t, 1, func(w *World) {
		const groups = 12
		victim, _, _ := three(w)
		w.create(groups)
		w.Pass(20 * time.Second)
		lost := w.of(victim, groups)
		victim.Link.Set(shardingtest.Refused)
		w.Pass(timings.Validity)
		passes, calls := victim.Passes(), len(w.VCenter.History().Of(victim.Boot).Calls)
		for n := range int32(10) {
			for i := range groups {
				w.scale(group(i), 1+n%3)
			}
			w.Pass(2 * time.Second)
		}
		if more := victim.Passes() - passes; more > 0 || len(w.VCenter.History().Of(victim.Boot).Calls) > calls {
			t.Errorf("it began %d passes over groups that are another's", more)
		}
		if len(lost) == 0 {
			t.Error("it had no group: the story says nothing")
		}
		victim.Link.Set(shardingtest.Fine)
		if !w.Shared(time.Minute) {
			t.Error("it gets no share again")
		}
	})
}

// TestACallThatLastsLongerThanTheRightToMakeItIsGivenUpInTimeAndItsVMIsKept: vCenter executes the clone at once and
// responds late, or executes it after its client has canceled it. It does so before the next owner comes, or after
// that one has created the VM itself.
func TestACallThatLastsLongerThanTheRightToMakeItIsGivenUpInTimeAndItsVMIsKept(t *testing.T) {
	t.Parallel()
	for name, travel := range map[string]Travel{
		"answered late":                    {10 * time.Millisecond, 20 * time.Second},
		"carried out late":                 {9 * time.Second, time.Second},
		"carried out after the next's":     {20 * time.Second, time.Second},
		"carried out together with next's": {timings.Patience, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			operators(t, 1, func(w *World) {
				const groups = 12
				three(w)
				w.create(groups)
				w.Pass(20 * time.Second)
				victim := w.holder(group(0))
				var late string
				w.VCenter.OnCall(func(c history.Call) (Travel, bool) {
					if c.Boot != victim.Boot || c.Method != string(vsphere.OpClone) || late != "" {
						return Travel{}, false
					}
					late = c.Name
					return travel, true
				})
				w.scale(group(0), 3)
				w.Pass(10 * time.Millisecond)
				lost := time.Now()
				victim.Link.Set(shardingtest.BlackHoled)
				w.Pass(25 * time.Second)
				end := victim.Link.Proven().Add(timings.Validity)
				given := slices.DeleteFunc(w.VCenter.History().Of(victim.Boot).Calls, func(c history.Call) bool { return c.Outcome != givenUp })
				if len(given) != 1 || given[0].Name != late || !given[0].End.Equal(end) {
					t.Errorf("given up: %v, want %s at %s", given, late, end.Format(history.Clock))
				}
				renewed := w.renewedAt(victim.Boot, time.Now())
				w.takenAfter(victim.Boot, lost, renewed, timings.Patience+firstTake, timings.Patience+lastTake)
				victim.Link.Set(shardingtest.Fine)
				if _, ok := w.Settle(30 * time.Second); !ok || len(w.VCenter.VMs()) != 2*groups+1 {
					t.Errorf("%d VMs, want %d; %s", len(w.VCenter.VMs()), 2*groups+1, sentences(w.Unsettled()))
				}
			})
		})
	}
}
