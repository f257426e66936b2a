// Package quotametrics reports quotas: their usage, their limits, and the outcomes of claims.
package quotametrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// Fill is the usage and the limit of one dimension of a policy's quota.
type Fill struct {
	Policy, Resource string
	Used, Hard       float64
}

// Source provides quotas. *quota.Ledger implements it.
type Source interface {
	// Fills returns each dimension that a quota limits, from memory.
	Fills() []Fill
	// HeldByVCenter returns, by VCenter, the number of deleted groups that count because the vCenter cannot be read. It reads memory. Callers must not change the map.
	HeldByVCenter() map[string]int
}

// Leader reports whether this replica leads.
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

// Counters count the work of the ledger of a process. A nil *Counters counts nothing.
type Counters struct {
	asks, writes *prometheus.CounterVec
}

// New returns Counters that are registered in the registry.
func New(registry prometheus.Registerer) (*Counters, error) {
	c := &Counters{asks: metrics.QuotaAsks.NewCounter(), writes: metrics.QuotaLedgerWrites.NewCounter()}
	return c, errors.Join(registry.Register(c.asks), registry.Register(c.writes))
}

// Asked counts a claim, by its outcome.
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
