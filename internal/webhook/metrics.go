package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// verdict is the result of a request, as a metric label.
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

// metrics of the webhooks. The label member has names of MemberClusters that sent a valid segment. It is empty for the
// hub's own kinds and for unknown callers.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: definitions.AdmissionRequests.NewCounter(), seconds: definitions.AdmissionDuration.NewHistogram(),
	}
	registry.MustRegister(m.requests, m.seconds)
	return m
}

func (m *metrics) observe(webhook, member string, v verdict, took time.Duration) {
	m.requests.WithLabelValues(webhook, member, string(v)).Inc()
	m.seconds.WithLabelValues(webhook).Observe(took.Seconds())
}
