package quotametrics_test

import (
	"maps"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
)

type fills []quotametrics.Fill

func (f fills) Fills() []quotametrics.Fill { return f }

func (fills) HeldByVCenter() map[string]int { return map[string]int{"old": 2} }

type leads bool

func (l leads) Leading() bool { return bool(l) }

func TestOnlyTheLeaderReportsQuotas(t *testing.T) {
	all := fills{{Policy: "q", Resource: "vms", Used: 7, Hard: 10}, {Policy: "q", Resource: "cpu", Hard: 20}}
	want := map[string]float64{
		`vmgroup_quota_used{policy="q",resource="vms"}`:       7,
		`vmgroup_quota_hard{policy="q",resource="vms"}`:       10,
		`vmgroup_quota_hard{policy="q",resource="cpu"}`:       20,
		`vmgroup_quota_groups_held_by_vcenter{vcenter="old"}`: 2,
	}
	if got := metricstest.Collected(t, quotametrics.Collector{Quotas: all, Leader: leads(true)}); !maps.Equal(got, want) {
		t.Errorf("the leader reports %v", got)
	}
	if got := metricstest.Collected(t, quotametrics.Collector{Quotas: all, Leader: leads(false)}); len(got) > 0 {
		t.Errorf("a replica that does not lead reports %v", got)
	}
}

func TestCountersThatAreNilCountNothing(*testing.T) {
	(*quotametrics.Counters)(nil).Asked("granted")
	(*quotametrics.Counters)(nil).Wrote()
}
