package world

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// pick returns a random number below n.
func (w *World) pick(n int) int { return int(w.float() * float64(n)) }

// change changes a random one of n groups.
func (w *World) change(groups int) {
	w.t.Helper()
	name, vms := group(w.pick(groups)), int32(1+w.pick(3))
	var err error
	switch g := w.Member.Group(name); {
	case g == nil:
		w.Member.Create(name, vms)
	case g.DeletionTimestamp != nil: // its name is taken until it is deleted
	case w.pick(4) == 0:
		err = w.Member.Delete(name)
	default:
		err = w.Member.Scale(name, vms)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// trouble disturbs replicas, or the hub, and ends an earlier disturbance of a replica.
func (w *World) trouble() {
	alive := w.Alive()
	r := alive[w.pick(len(alive))]
	for _, each := range alive {
		if w.pick(2) == 0 {
			each.Continue()
			each.Link.Set(shardingtest.Fine)
			each.Link.Stall(false)
			each.Link.Slow(trip)
		}
	}
	switch w.pick(12) {
	case 0:
		r.Kill()
	case 1:
		r.Terminate()
	case 2, 3:
		r.Stop()
	case 4:
		r.Link.Set(shardingtest.Refused)
	case 5:
		r.Link.Set(shardingtest.BlackHoled)
	case 6:
		r.Link.Set(shardingtest.Mute)
	case 7:
		r.Link.Stall(true)
	case 8:
		r.Link.Slow(time.Duration(w.pick(4000)) * time.Millisecond)
	case 9:
		r.Process.SetWall(time.Duration(w.pick(1200)-600) * time.Second)
	case 10:
		w.Hub.DeleteLeases()
	case 11:
		w.Hub.DeleteRing()
	}
	for n := len(w.Alive()); n < 3; n++ {
		w.Start(fmt.Sprintf("r%d", w.boots), Rate(1-drift+2*drift*w.float()))
	}
}

// calm ends all faults, and waits for their consequences: a request in flight can time out, and a replica that was
// silent for too long by then is fenced, even if it appeared healthy.
func (w *World) calm() {
	for _, r := range w.Alive() {
		r.Continue()
		r.Link.Set(shardingtest.Fine)
		r.Link.Stall(false)
		r.Link.Slow(trip)
	}
	w.Pass(timings.Patience + timings.Request)
}

func TestReplicasComeAndGoWhileGroupsDo(t *testing.T) {
	t.Parallel()
	const groups, rounds = 8, 6
	for seed := range uint64(24) {
		operators(t, seed, func(w *World) {
			three(w)
			for range rounds {
				for range 4 {
					w.change(groups)
					w.Pass(time.Duration(w.pick(1500)) * time.Millisecond)
				}
				switch alive := w.Alive(); w.pick(3) {
				case 0:
					alive[w.pick(len(alive))].Kill()
				case 1:
					alive[w.pick(len(alive))].Terminate()
					w.Pass(time.Second)
				}
				for n := len(w.Alive()); n < 3+w.pick(2); n++ {
					w.Start(fmt.Sprintf("r%d", w.boots))
				}
			}
		})
	}
}

// TestWhateverHappensTwoNeverActOnOneGroup runs random stories.
func TestWhateverHappensTwoNeverActOnOneGroup(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		probers(t, seed, func(w *World) {
			three(w)
			for range 12 {
				w.trouble()
				w.Pass(time.Duration(w.pick(8000)) * time.Millisecond)
			}
			w.calm()
			if !w.Shared(2 * time.Minute) {
				t.Errorf("seed %d: two minutes later they do not share everything", seed)
			}
			w.eachActs(2 * time.Second)
		})
		if t.Failed() {
			return
		}
	}
}

func TestWhateverHappensThereAreExactlyTheVMsAskedFor(t *testing.T) {
	t.Parallel()
	const groups = 6
	for seed := range uint64(12) {
		operators(t, seed, func(w *World) {
			three(w)
			for range 10 {
				w.trouble()
				w.change(groups)
				w.Pass(time.Duration(w.pick(8000)) * time.Millisecond)
				w.change(groups)
			}
			w.calm()
		})
		if t.Failed() {
			return
		}
	}
}

// goroutines is their number, without those of Go's runtime, which runtime.NumGoroutine sometimes counts.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("\n\ngoroutine "))
}

// TestReplicasThatComeAndGoLeaveNoGoroutine, neither in the others nor their own.
func TestReplicasThatComeAndGoLeaveNoGoroutine(t *testing.T) {
	operators(t, 1, func(w *World) {
		three(w)
		w.create(6)
		visit := func(end func(*Replica)) {
			visitor := w.Start("visitor")
			if !w.Shared(time.Minute) {
				t.Fatal("it gets no share")
			}
			end(visitor)
			<-visitor.Done()
			if !w.Shared(time.Minute) {
				t.Fatal("its share is not taken")
			}
		}
		count := func() int {
			w.Pass(10 * time.Second)
			least := math.MaxInt
			for range 10 { // a request in flight has one by chance, a leak is always there
				w.Pass(7 * trip)
				synctest.Wait()
				least = min(least, goroutines())
			}
			return least
		}
		visit((*Replica).Terminate) // one-time allocations are no leak
		before := count()
		for range 3 {
			visit((*Replica).Terminate)
			visit((*Replica).Kill)
		}
		if after := count(); after > before {
			t.Errorf("%d goroutines, before six replicas came and went %d", after, before)
		}
	})
}
