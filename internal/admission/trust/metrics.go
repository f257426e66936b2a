package trust

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const metricsPrefix = "vmgroup_operator_admission_"

var (
	oldestAck = prometheus.NewDesc(metricsPrefix+"ca_bundle_oldest_ack_seconds",
		"For how long the member that is furthest behind has not acknowledged a certificate authority of the webhooks; 0 if none is behind.", nil, nil)
	leafExpiry = prometheus.NewDesc(metricsPrefix+"serving_certificate_expiry_seconds",
		"Seconds until the certificate that the webhooks serve expires; negative afterwards.", nil, nil)
	caExpiry = prometheus.NewDesc(metricsPrefix+"ca_expiry_seconds",
		"Seconds until the last certificate authority that members are told to trust expires; negative afterwards.", nil, nil)
)

// Describe satisfies prometheus.Collector.
func (r *Rotator) Describe(out chan<- *prometheus.Desc) {
	out <- oldestAck
	out <- leafExpiry
	out <- caExpiry
}

// Collect satisfies prometheus.Collector. Every replica shows what it knows; nothing is shown of what is not known.
func (r *Rotator) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known {
		return
	}
	now := r.opts.Now()
	gauge := func(desc *prometheus.Desc, d time.Duration) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, d.Seconds())
	}
	var oldest time.Duration
	for _, b := range r.decision.Behind {
		if !b.Since.IsZero() {
			oldest = max(oldest, now.Sub(b.Since))
		}
	}
	gauge(oldestAck, oldest)
	if served := r.state.Served; served != nil {
		gauge(leafExpiry, served.NotAfter.Sub(now))
	}
	var last time.Time
	for _, a := range r.state.Authorities {
		if a.NotAfter.After(last) {
			last = a.NotAfter
		}
	}
	if !last.IsZero() {
		gauge(caExpiry, last.Sub(now))
	}
}
