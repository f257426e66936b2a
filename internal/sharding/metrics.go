package sharding

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// counts are the counters of the replica. Gauges cover what can be read from the state at any time.
type counts struct {
	takeover   *prometheus.HistogramVec
	takeovers  *prometheus.CounterVec
	rejections *prometheus.CounterVec
	requests   *prometheus.CounterVec
}

func newCounts() *counts {
	m := &counts{
		takeover: metrics.ShardingTakeover.NewHistogram(), takeovers: metrics.ShardingTakeovers.NewCounter(),
		rejections: metrics.ShardingRejections.NewCounter(), requests: metrics.ShardingRequests.NewCounter(),
	}
	for _, by := range []string{byLease, byProof} {
		m.takeovers.WithLabelValues(by)
	}
	return m
}

// Reasons for treating a session as dead.
const (
	byLease = "lease"
	byProof = "proof"
)

func reasonOf(t protocol.Takeover) string {
	if t.DeathProven {
		return byProof
	}
	return byLease
}

func (m *counts) tookOver(t protocol.Takeover) {
	m.takeover.WithLabelValues().Observe(t.Silent.Seconds())
	m.takeovers.WithLabelValues(reasonOf(t)).Inc()
}

func (m *counts) rejected(err error) {
	reason := "lost"
	switch {
	case errors.Is(err, protocol.ErrYielding):
		reason = "yielding"
	case errors.Is(err, protocol.ErrShort):
		reason = "validity"
	}
	m.rejections.WithLabelValues(reason).Inc()
}

func (m *counts) request(op protocol.Op, outcome protocol.Outcome) {
	name := fmt.Sprintf("%T", op)
	m.requests.WithLabelValues(name[strings.LastIndex(name, ".")+1:], outcome.String()).Inc()
}

// gauges are read from the state on collection.
var gauges = []struct {
	of    *metrics.Definition
	value func(protocol.Status) float64
}{
	{metrics.ShardingOwnedBuckets, func(s protocol.Status) float64 { return float64(s.Held) }},
	{metrics.ShardingUnowned, func(s protocol.Status) float64 { return float64(s.Unowned) }},
	{metrics.ShardingUnownedFor, func(s protocol.Status) float64 { return s.LongestUnowned.Seconds() }},
	{metrics.ShardingGeneration, func(s protocol.Status) float64 { return float64(s.Generation) }},
	{metrics.ShardingWrites, func(s protocol.Status) float64 { return float64(s.Sequence) }},
	{metrics.ShardingValidity, func(s protocol.Status) float64 { return max(0, s.Left.Seconds()) }},
	{metrics.ShardingLeader, func(s protocol.Status) float64 {
		if s.Leading {
			return 1
		}
		return 0
	}},
	{metrics.ShardingSessions, func(s protocol.Status) float64 { return float64(s.Sessions) }},
	{metrics.ShardingTokens, func(s protocol.Status) float64 { return float64(s.Tokens) }},
}

// Describe implements prometheus.Collector.
func (r *Replica) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range gauges {
		ch <- g.of.Desc()
	}
	r.counted.takeover.Describe(ch)
	r.counted.takeovers.Describe(ch)
	r.counted.rejections.Describe(ch)
	r.counted.requests.Describe(ch)
}

// Collect implements prometheus.Collector.
func (r *Replica) Collect(ch chan<- prometheus.Metric) {
	status := r.Status()
	for _, g := range gauges {
		ch <- g.of.Value(g.value(status))
	}
	r.counted.takeover.Collect(ch)
	r.counted.takeovers.Collect(ch)
	r.counted.rejections.Collect(ch)
	r.counted.requests.Collect(ch)
}
