// Package quotametrics reports quotas: what counts in them, their limits, and how requests for a share end.
package quotametrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// Fill is how full one dimension of the quota of a policy is.
type Fill struct {
	Policy, Resource string
	Used, Hard       float64
}

// Source knows quotas. *quota.Ledger implements it.
type Source interface {
	// Fills returns each dimension that a quota limits, from memory.
	Fills() []Fill
	// HeldByVCenter returns the number of deleted groups that count because a vCenter cannot be read, from memory. Nobody changes it.
	HeldByVCenter() map[string]int
}

// Leader says whether this replica leads.
type Leader interface{ Leading() bool }

// Collector reports quotas while this replica leads.
type Collector struct {
	Quotas Source
	Leader Leader
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(out chan<- *prometheus.Desc) {
	metrics.Describe(out, metrics.QuotaUsed, metrics.QuotaHard, metrics.QuotaHeldByVCenter)
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(out chan<- prometheus.Metric) {
	if !c.Leader.Leading() {
		return
	}
	for _, f := range c.Quotas.Fills() {
		out <- metrics.QuotaHard.Value(f.Hard, f.Policy, f.Resource)
		if f.Used != 0 {
			out <- metrics.QuotaUsed.Value(f.Used, f.Policy, f.Resource)
		}
	}
	for vcenter, n := range c.Quotas.HeldByVCenter() {
		out <- metrics.QuotaHeldByVCenter.Value(float64(n), vcenter)
	}
}

// Counters count what the ledger of a process does. A nil *Counters counts nothing.
type Counters struct {
	asks, writes *prometheus.CounterVec
}

// New returns Counters that the registry shows.
func New(registry prometheus.Registerer) (*Counters, error) {
	c := &Counters{asks: metrics.QuotaAsks.NewCounter(), writes: metrics.QuotaLedgerWrites.NewCounter()}
	return c, errors.Join(registry.Register(c.asks), registry.Register(c.writes))
}

// Asked counts a request for a share, by its outcome.
func (c *Counters) Asked(outcome string) {
	if c != nil {
		c.asks.WithLabelValues(outcome).Inc()
	}
}

// Wrote counts a write of a ledger.
func (c *Counters) Wrote() {
	if c != nil {
		c.writes.WithLabelValues().Inc()
	}
}
