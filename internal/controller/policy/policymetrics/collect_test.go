package policymetrics_test

import (
	"maps"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/controller/policy/policymetrics"
	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
)

type counted []policymetrics.Policy

func (c counted) Counted() []policymetrics.Policy { return c }

type leads bool

func (l leads) Leading() bool { return bool(l) }

func TestOnlyTheLeaderReportsPolicies(t *testing.T) {
	all := counted{{Name: "a", Matched: 5, Violations: 2}, {Name: "b", Matched: 1}, {Name: "c"}}
	want := map[string]float64{
		`vmgroup_policy_matched_groups{policy="a"}`: 5,
		`vmgroup_policy_matched_groups{policy="b"}`: 1,
		`vmgroup_policy_violations{policy="a"}`:     2,
	}
	if got := metricstest.Collected(t, policymetrics.Collector{Policies: all, Leader: leads(true)}); !maps.Equal(got, want) {
		t.Errorf("the leader reports %v", got)
	}
	if got := metricstest.Collected(t, policymetrics.Collector{Policies: all, Leader: leads(false)}); len(got) > 0 {
		t.Errorf("a replica that does not lead reports %v", got)
	}
}
