package world

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

var timings = protocol.DefaultTimings()

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// probers runs a story of replicas that probe.
func probers(t *testing.T, seed uint64, tell func(w *World)) {
	t.Helper()
	in(t, seed, func(w *World) {
		w.work = func() work { return &Prober{} }
		for b := range buckets {
			w.probes = append(w.probes, probed(b))
		}
		tell(w)
	})
}

// operators runs a story of replicas that run the group controller.
func operators(t *testing.T, seed uint64, tell func(w *World)) {
	t.Helper()
	in(t, seed, func(w *World) {
		w.Member = newMember()
		w.work = func() work { return &Operator{} }
		tell(w)
		if _, ok := w.Settle(2 * time.Minute); !ok {
			w.t.Errorf("two minutes later: %s", sentences(w.Unsettled()))
		}
		w.Pass(5 * time.Second)
		if wrong := w.WrongVMs(); len(wrong) > 0 {
			w.t.Errorf("vCenter does not have exactly what was asked for: %s", sentences(wrong))
		}
	})
}

// in runs a story in a bubble, and then checks the results. A bubble whose goroutines do not end fails.
func in(t *testing.T, seed uint64, tell func(w *World)) {
	t.Helper()
	var h history.History
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w, end := newWorld(t, seed)
		defer func() {
			end()
			h = w.VCenter.History()
		}()
		tell(w)
	})
	if wrong := judge(h); len(wrong) > 0 {
		t.Errorf("%d calls: %s", len(h.Calls), sentences(wrong[:min(3, len(wrong))]))
	}
}

// three starts three replicas and waits until they share all buckets.
func three(w *World) (a, b, c *Replica) {
	w.t.Helper()
	a, b, c = w.Start("a"), w.Start("b"), w.Start("c")
	if !w.Shared(time.Minute) {
		w.t.Fatal("the replicas do not share the buckets evenly")
	}
	return a, b, c
}

// gaps are the times from a moment until others held the buckets that a process held then.
func (w *World) gaps(boot string, moment time.Time) []history.Gap {
	line := w.Timeline()
	return line.Ownerless(moment, line.Of(boot))
}

func longest(gaps []history.Gap) time.Duration { return history.Percentile(gaps, 1) }

func shortest(gaps []history.Gap) time.Duration {
	return slices.MinFunc(gaps, func(a, b history.Gap) int { return int(a.Length() - b.Length()) }).Length()
}

func group(i int) string { return fmt.Sprintf("vg-%d", i) }
