package sharding

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// metrics that are counted; what can be read from the state at any time is in describe.
type metrics struct {
	takeover   prometheus.Histogram
	takeovers  *prometheus.CounterVec
	rejections *prometheus.CounterVec
	requests   *prometheus.CounterVec
}

const namespace = "vmgroup_operator_sharding"

func newMetrics() *metrics {
	m := &metrics{
		takeover: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: namespace + "_takeover_seconds",
			Help: "Time from a dead session's last sign of life to the moment when this replica had taken buckets from it.",
			// Around the patience of 12 s, and what a proven death makes possible.
			Buckets: []float64{0.5, 1, 2, 3, 5, 8, 10, 11, 12, 12.5, 13, 15, 20, 30, 60},
		}),
		takeovers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "_takeovers_total",
			Help: "Takeovers of buckets from a dead session by this replica: by the silence of its Lease (lease), or earlier by a proof of its death (proof).",
		}, []string{"by"}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "_fence_rejections_total",
			Help: "Calls with side effects that were not sent, because the object was or was about to be another replica's.",
		}, []string{"reason"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "_hub_requests_total",
			Help: "Requests about sessions and the ring, by outcome.",
		}, []string{"request", "outcome"}),
	}
	for _, by := range []string{byLease, byProof} {
		m.takeovers.WithLabelValues(by)
	}
	return m
}

// What let a session be taken for dead.
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

func (m *metrics) tookOver(t protocol.Takeover) {
	m.takeover.Observe(t.Silent.Seconds())
	m.takeovers.WithLabelValues(reasonOf(t)).Inc()
}

func (m *metrics) rejected(err error) {
	reason := "lost"
	switch {
	case errors.Is(err, protocol.ErrYielding):
		reason = "yielding"
	case errors.Is(err, protocol.ErrShort):
		reason = "validity"
	}
	m.rejections.WithLabelValues(reason).Inc()
}

func (m *metrics) request(op protocol.Op, outcome protocol.Outcome) {
	name := fmt.Sprintf("%T", op)
	m.requests.WithLabelValues(name[strings.LastIndex(name, ".")+1:], outcome.String()).Inc()
}

// gauges are read from the state when they are asked for.
var gauges = []struct {
	desc  *prometheus.Desc
	value func(protocol.Status) float64
}{
	{gauge("owned_buckets", "Buckets that this replica holds."), func(s protocol.Status) float64 { return float64(s.Held) }},
	{gauge("unowned_buckets", "Buckets that nobody alive holds."), func(s protocol.Status) float64 { return float64(s.Unowned) }},
	{gauge("unowned_seconds", "For how long the bucket that has been without an owner for longest has been so."),
		func(s protocol.Status) float64 { return s.LongestUnowned.Seconds() }},
	{gauge("epoch_generation", "Generation of the ring, the first part of every epoch. It is raised when the ring is lost or restored."),
		func(s protocol.Status) float64 { return float64(s.Generation) }},
	{gauge("ring_writes", "Number of writes of the ring in its present generation."), func(s protocol.Status) float64 { return float64(s.Sequence) }},
	{gauge("validity_seconds", "Seconds for which this replica may act without another renewal; 0 if it may not."),
		func(s protocol.Status) float64 { return max(0, s.Left.Seconds()) }},
	{gauge("leader", "1 if this replica does what must be done once."), func(s protocol.Status) float64 {
		if s.Leading {
			return 1
		}
		return 0
	}},
	{gauge("sessions", "Sessions that are not known to have ended, this one included."), func(s protocol.Status) float64 { return float64(s.Sessions) }},
	{gauge("tokens", "Reconciles under way."), func(s protocol.Status) float64 { return float64(s.Tokens) }},
}

func gauge(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, nil, nil)
}

// Describe implements prometheus.Collector.
func (r *Replica) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range gauges {
		ch <- g.desc
	}
	r.metrics.takeover.Describe(ch)
	r.metrics.takeovers.Describe(ch)
	r.metrics.rejections.Describe(ch)
	r.metrics.requests.Describe(ch)
}

// Collect implements prometheus.Collector.
func (r *Replica) Collect(ch chan<- prometheus.Metric) {
	status := r.Status()
	for _, g := range gauges {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(status))
	}
	r.metrics.takeover.Collect(ch)
	r.metrics.takeovers.Collect(ch)
	r.metrics.rejections.Collect(ch)
	r.metrics.requests.Collect(ch)
}
