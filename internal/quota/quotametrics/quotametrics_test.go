package quotametrics_test

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
)

type fills []quotametrics.Fill

func (f fills) Fills() []quotametrics.Fill { return f }

type leads bool

func (l leads) Leading() bool { return bool(l) }

func TestOnlyTheLeaderReportsQuotas(t *testing.T) {
	all := fills{{Policy: "q", Resource: "vms", Used: 7, Hard: 10}, {Policy: "q", Resource: "cpu", Hard: 20}}
	want := map[string]float64{
		`vmgroup_quota_used{policy="q",resource="vms"}`: 7,
		`vmgroup_quota_hard{policy="q",resource="vms"}`: 10,
		`vmgroup_quota_hard{policy="q",resource="cpu"}`: 20,
	}
	if got := metricstest.Collected(t, quotametrics.Collector{Quotas: all, Leader: leads(true)}); !maps.Equal(got, want) {
		t.Errorf("the leader reports %v", got)
	}
	if got := metricstest.Collected(t, quotametrics.Collector{Quotas: all, Leader: leads(false)}); len(got) > 0 {
		t.Errorf("a replica that does not lead reports %v", got)
	}
}

func TestAVCenterThatHoldsNothingAnyMoreHasNoSeries(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	c, err := quotametrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	c.Held(map[string][]string{"a": {"g", "h"}, "b": {"i"}})
	c.Held(map[string][]string{"b": {"i"}})
	if got := metricstest.Gather(t, registry); !maps.Equal(got, map[string]float64{`vmgroup_quota_groups_held_by_vcenter{vcenter="b"}`: 1}) {
		t.Errorf("got %v", got)
	}
	(*quotametrics.Counters)(nil).Held(nil)
	(*quotametrics.Counters)(nil).Asked("granted")
	(*quotametrics.Counters)(nil).Wrote()
}
