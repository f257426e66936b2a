package tally

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// randomGroup returns a group of one of a few cells.
func randomGroup(r *rand.Rand, name string) Group {
	s := &Shape{State: State(r.IntN(int(states))), Desired: int32(r.IntN(5)), Rollout: Rollout(r.IntN(int(rollouts)))}
	s.VMs[r.IntN(int(vmStates))] = int32(r.IntN(4))
	s.Held[r.IntN(int(holds))] = r.IntN(4) == 0
	if r.IntN(2) == 0 {
		s.Reason, s.Since = OtherReason, created.Add(time.Duration(r.IntN(3))*time.Hour)
	}
	return Group{Cell: Cell{fmt.Sprint("m", r.IntN(3)), fmt.Sprint("vc", r.IntN(2))}, Key: name, Namespace: "ns", Name: name, Shape: s}
}

// Writers change groups while others read. Afterwards all groups are removed, and nothing is left.
func TestABookIsReadWhileItChanges(t *testing.T) {
	b := NewBook()
	const writers, groups = 4, 300
	stop := make(chan struct{})
	var readers, writing sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for cell, s := range b.Sums([]int{0, 1, 2, 3, 4, 5, 6}, later) {
					if s.Desired < 0 || len(s.NotReady) > 0 {
						t.Errorf("%v is %+v", cell, s)
					}
				}
				b.Summaries()
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			known := map[int]Group{}
			for range 3000 {
				i := r.IntN(groups)
				bucket, name := i%7, fmt.Sprint(w, "-", i)
				if old, is := known[i]; is {
					b.Remove(bucket, old)
					delete(known, i)
					continue
				}
				known[i] = randomGroup(r, name)
				b.Add(bucket, known[i])
			}
			for i, g := range known {
				b.Remove(i%7, g)
			}
		})
	}
	writing.Wait()
	close(stop)
	readers.Wait()
	members, vcenters := b.Summaries()
	if sums := b.Sums(b.numbers(), later); len(sums) > 0 || len(members) > 0 || len(vcenters) > 0 {
		t.Errorf("left are %v, %v, %v", sums, members, vcenters)
	}
}

func TestTheOldestGroupsAreTheWorst(t *testing.T) {
	b := NewBook()
	for i := range 30 { // in 30 buckets, the youngest first
		since := created.Add(-time.Duration(i) * time.Minute)
		b.Add(i, Group{
			Cell: Cell{"m", fmt.Sprint("vc", i%2)}, Key: fmt.Sprint(i), Namespace: "ns", Name: fmt.Sprint("g", i),
			Shape: &Shape{Reason: OtherReason, Since: since, Desired: 2, VMs: [vmStates]int32{VMReady: 1}},
		})
	}
	members, vcenters := b.Summaries()
	all, half := members["m"], vcenters["vc1"]
	if all.NotReady != 30 || all.Ready != 30 || all.Desired != 60 || half.NotReady != 15 || half.Ready != 15 || half.Desired != 30 {
		t.Errorf("member %+v, vCenter %+v", all, half)
	}
	if len(all.Worst) != MostWorst || all.Worst[0].Name != "g29" || all.Worst[9].Name != "g20" || half.Worst[0].Name != "g29" || half.Worst[9].Name != "g11" {
		t.Errorf("member %+v, vCenter %+v", all.Worst, half.Worst)
	}
}

// A group counts from the moment after the age on.
func TestAGroupIsNotReadyForLongerThanItsAge(t *testing.T) {
	b := NewBook()
	b.Add(1, Group{Cell: Cell{"m", "vc"}, Key: "k", Name: "g", Shape: &Shape{Reason: OtherReason, Since: created}})
	for after, want := range map[time.Duration][len(Ages)]int{
		0: {}, 15 * time.Minute: {}, 15*time.Minute + 1: {1}, time.Hour: {1}, time.Hour + 1: {1, 1},
	} {
		if got := b.Sums([]int{1}, created.Add(after))[Cell{"m", "vc"}].LongerThan; got != want {
			t.Errorf("after %s: %v, want %v", after, got, want)
		}
	}
}
