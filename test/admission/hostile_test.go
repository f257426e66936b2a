//go:build unix

package admission

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/stack"
	"github.com/codeconnect/vmgroup-operator/test/webhookcall"
)

const (
	// mostSlower is how much later valid requests may be answered while others do harm, and promptly is soon enough in any
	// case, in milliseconds: how much it really is, make bench BENCH=admission measures.
	mostSlower, promptly = 3.0, 100.0
	// mostMemory is what a replica may take more than before, in bytes. Bodies may take 32 MiB at a time; what is decoded
	// from them, and what the collector has not collected yet, is a multiple of that.
	mostMemory = 160 << 20
)

func TestHostileCallersDoNotKeepOthersWaiting(t *testing.T) {
	stack.Story(t)
	p := newPlace(t, "team-a", "hostile", nil)
	r := world.Replicas[0]
	c := callerOf(t, p.Cluster, r)
	group := p.group("valid", 1)
	p.untilAllSay("", group)
	pid := r.PID()
	// A window has no more requests than one member's part of the room, which is 128: where nothing runs for a second, all
	// that were due come at once.
	load := webhookcall.Load{Rate: 200, Duration: 600 * time.Millisecond, Valid: webhookcall.Creation(group)}
	c.Run(t.Context(), load) // connections are made, and what is slow the first time
	memory, measured := r.PeakMemory()

	hostile := load
	hostile.Hostile, hostile.HostileEvery = webhookcall.HostileBodies(p.namespace), 20
	const windows = 21
	quiet, troubled := make([]float64, 0, windows), make([]float64, 0, windows)
	answers := map[string]map[int]int{}
	for range windows {
		a, b := c.Run(t.Context(), load), c.Run(t.Context(), hostile)
		for _, out := range []webhookcall.Outcome{a, b} {
			for _, f := range out.Failures {
				t.Errorf("a valid request failed: %s", f)
			}
		}
		quiet, troubled = append(quiet, percentile99(a.Milliseconds)), append(troubled, percentile99(b.Milliseconds))
		for name, statuses := range b.Hostile {
			if answers[name] == nil {
				answers[name] = map[int]int{}
			}
			for status, n := range statuses {
				answers[name][status] += n
			}
		}
	}
	t.Logf("the 99th percentiles are %.1f ms without and %.1f ms with hostile requests; these were answered: %v", quiet, troubled, answers)
	if with, without := calm(troubled), calm(quiet); with > max(mostSlower*without, promptly) {
		t.Errorf("with hostile requests the 99th percentile is %.1f ms, without %.1f ms: more than %g times", with, without, mostSlower)
	}
	for _, h := range hostile.Hostile {
		if len(answers[h.Name]) == 0 {
			t.Errorf("no request of the kind %q was sent", h.Name)
		}
	}
	if answers["nested"][400] == 0 || answers["no review"][400] == 0 {
		t.Errorf("requests that make no sense are not refused: %v", answers)
	}
	if !r.Alive() || r.PID() != pid {
		t.Error("the replica was restarted")
	}
	if now, _ := r.PeakMemory(); measured {
		t.Logf("the most memory was %d MiB, %d MiB before", now>>20, memory>>20)
		if now-memory > mostMemory {
			t.Errorf("it took %d MiB more memory", (now-memory)>>20)
		}
	}
}

// percentile99 of at least one value.
func percentile99(values []float64) float64 {
	slices.Sort(values)
	return values[int(math.Ceil(float64(len(values))*0.99))-1]
}

// calm is what is not exceeded in a quarter of the windows. What hostile requests cost, they cost in all of them; what else
// runs on the machine makes some slower.
func calm(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/4]
}
