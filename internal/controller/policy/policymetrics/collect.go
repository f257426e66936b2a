// Package policymetrics reports how many groups VmGroupPolicies apply to, and how many violate them.
package policymetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// Policy has the counts of one VmGroupPolicy.
type Policy struct {
	Name                string
	Matched, Violations int
}

// Source provides the counts. *policy.Reconciler implements it.
type Source interface {
	// Counted returns the last counts, from memory.
	Counted() []Policy
}

// Leader reports whether this replica leads.
type Leader interface{ Leading() bool }

// Collector reports the counts while this replica leads: only the leader counts.
type Collector struct {
	Policies Source
	Leader   Leader
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(out chan<- *prometheus.Desc) {
	metrics.Describe(out, metrics.PolicyMatched, metrics.PolicyViolations)
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(out chan<- prometheus.Metric) {
	if !c.Leader.Leading() {
		return
	}
	for _, p := range c.Policies.Counted() {
		if p.Matched > 0 {
			out <- metrics.PolicyMatched.Value(float64(p.Matched), p.Name)
		}
		if p.Violations > 0 {
			out <- metrics.PolicyViolations.Value(float64(p.Violations), p.Name)
		}
	}
}
