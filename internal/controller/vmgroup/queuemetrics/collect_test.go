package queuemetrics_test

import (
	"maps"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/queuemetrics"
	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
)

type queue map[string]int

func (q queue) Waiting() map[string]int { return q }

func TestMembersForWhichNoGroupWaitsHaveNoSeries(t *testing.T) {
	got := metricstest.Collected(t, queuemetrics.Collector{Queue: queue{"m-1": 3, "m-2": 0}})
	if want := map[string]float64{`vmgroup_queue_waiting{member="m-1"}`: 3}; !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
