//go:build unix && slow

package admission

import (
	"os"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/webhookcall"
)

// mostMemory is half of the chart's limit.
const mostMemory = 512 << 20

// TestHostileCallersDoNotKeepOthersWaiting: make bench BENCH=admission measures the added latency of valid requests,
// and the memory.
func TestHostileCallersDoNotKeepOthersWaiting(t *testing.T) {
	stack.Story(t)
	p := newPlace(t, "team-a", "hostile", nil)
	r := world.Replicas[0]
	c := callerOf(t, p.Cluster, r)
	group := p.group("valid", 1)
	p.untilAllSay("", group)
	pid := r.PID()
	// A window has no more requests than one member's share of the limit, which is 128: after a second without
	// progress, all due requests arrive at once.
	load := webhookcall.Load{Rate: 200, Duration: 600 * time.Millisecond, Valid: webhookcall.Creation(group)}
	c.Run(t.Context(), load) // creates connections and other slow first uses

	hostile := load
	hostile.Hostile, hostile.HostileEvery = webhookcall.HostileBodies(p.namespace), 20
	const windows = 5
	answers := map[string]map[int]int{}
	for range windows {
		out := c.Run(t.Context(), hostile)
		for _, f := range out.Failures {
			t.Errorf("a valid request failed: %s", f)
		}
		for name, statuses := range out.Hostile {
			if answers[name] == nil {
				answers[name] = map[int]int{}
			}
			for status, n := range statuses {
				answers[name][status] += n
			}
		}
	}
	t.Logf("these hostile requests were answered: %v", answers)
	for _, h := range hostile.Hostile {
		if len(answers[h.Name]) == 0 {
			t.Errorf("no request of the kind %q was sent", h.Name)
		}
	}
	if answers["nested"][400] == 0 || answers["no review"][400] == 0 {
		t.Errorf("requests that make no sense are not refused: %v", answers)
	}
	if answers["amplifying"][413] == 0 {
		t.Errorf("what would be a hundred times as large when it is decoded is not refused: %v", answers)
	}
	most := int64(mostMemory)
	if os.Getenv(progress.RaceVariable) != "" {
		most *= 6 // the race detector uses five to ten times as much
	}
	peak, known := r.PeakMemory()
	t.Logf("the replica's memory was %d MiB at most", peak>>20)
	if known && peak > most {
		t.Errorf("the replica's memory was %d MiB, and may be %d MiB", peak>>20, most>>20)
	}
	if !r.Alive() || r.PID() != pid {
		t.Error("the replica was restarted")
	}
}
