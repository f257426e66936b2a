package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// verdict is how a request ended, as a metric label.
type verdict string

// Verdicts.
const (
	allowed     verdict = "allowed"
	defaulted   verdict = "defaulted"
	refused     verdict = "refused"
	unavailable verdict = "unavailable"
	panicked    verdict = "panicked"
	malformed   verdict = "malformed"
	tooLarge    verdict = "too_large"
	tooSlow     verdict = "too_slow"
	noRoom      verdict = "no_room"
	notFound    verdict = "not_found"
)

// metrics of the webhooks. The label member holds names of MemberClusters whose segment was right, and is empty for the
// hub's own kinds and for callers that nobody knows.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vmgroup_admission_requests_total",
			Help: "Admission requests, by webhook, member cluster and how they ended.",
		}, []string{"webhook", "member", "verdict"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vmgroup_admission_request_seconds",
			Help: "Time from the head of an admission request to its answer, by webhook and how it ended.",
			// From what memory answers in to the timeout of the API servers.
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5},
		}, []string{"webhook", "verdict"}),
	}
	registry.MustRegister(m.requests, m.seconds)
	return m
}

func (m *metrics) observe(webhook, member string, v verdict, took time.Duration) {
	m.requests.WithLabelValues(webhook, member, string(v)).Inc()
	m.seconds.WithLabelValues(webhook, string(v)).Observe(took.Seconds())
}
