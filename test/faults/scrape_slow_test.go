//go:build unix && slow

package faults

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// apart is the time between the two scrapes of a phase. Their difference is the rate of the counters.
const apart = 4 * time.Second

// kept matches the series that rules and dashboards of the chart read.
var kept = regexp.MustCompile(`^(vmgroup_|controller_runtime_reconcile_(total|errors_total|panics_total)\{)`)

// phases of a fault.
var phases = []string{"before", "during", "after"}

// recording has the scrapes of a fault. Each begins with a line that names phase, time and replica; the series follow.
type recording struct{ text bytes.Buffer }

// phase scrapes all replicas twice. A replica that does not respond has no scrape.
func (r *recording) phase(t *testing.T, w *world, name string) {
	t.Helper()
	r.scrape(t.Context(), w, name)
	next := time.NewTimer(apart)
	defer next.Stop()
	select {
	case <-next.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	r.scrape(t.Context(), w, name)
}

func (r *recording) scrape(ctx context.Context, w *world, phase string) {
	for _, replica := range w.Replicas {
		text, err := replica.Metrics(ctx)
		if err != nil {
			fmt.Fprintf(&r.text, "# %s %d %s down\n", phase, time.Now().UnixMilli(), replica.Name)
			continue
		}
		fmt.Fprintf(&r.text, "# %s %d %s up\n", phase, time.Now().UnixMilli(), replica.Name)
		for line := range strings.Lines(text) {
			if kept.MatchString(line) {
				r.text.WriteString(line)
			}
		}
	}
}

// reported is the sum of a metric over the replicas that respond, of the series that have all these labels, such as `state="error"`.
func (w *world) reported(ctx context.Context, metric string, labels ...string) (sum float64) {
	for _, replica := range w.Replicas {
		sum += w.reportedBy(ctx, replica, metric, labels...)
	}
	return sum
}

// reportedBy is the sum of a metric of one replica, and zero if the replica does not respond.
func (w *world) reportedBy(ctx context.Context, replica *stack.Replica, metric string, labels ...string) (sum float64) {
	text, err := replica.Metrics(ctx)
	if err != nil {
		return 0
	}
lines:
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, metric)
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(rest, label) {
				continue lines
			}
		}
		var value float64
		if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' '):], &value); err == nil {
			sum += value
		}
	}
	return sum
}

// reports waits until the replicas together report a value.
func (w *world) reports(t *testing.T, want float64, metric string, labels ...string) {
	t.Helper()
	w.until(t, fmt.Sprintf("%s%v to be %g", metric, labels, want), func(ctx context.Context) (bool, error) {
		return w.reported(ctx, metric, labels...) == want, nil
	})
}
