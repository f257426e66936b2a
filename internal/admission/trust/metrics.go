package trust

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// Describe satisfies prometheus.Collector.
func (r *Rotator) Describe(out chan<- *prometheus.Desc) {
	metrics.Describe(out, metrics.AdmissionOldestAck, metrics.AdmissionCertificateExpiration, metrics.AdmissionCAExpiration)
}

// Collect satisfies prometheus.Collector. Every replica exports its own view and omits unknown values.
func (r *Rotator) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known {
		return
	}
	now := r.opts.Now()
	var oldest time.Duration
	for _, b := range r.decision.Behind {
		if !b.Since.IsZero() {
			oldest = max(oldest, now.Sub(b.Since))
		}
	}
	out <- metrics.AdmissionOldestAck.Value(oldest.Seconds())
	if served := r.state.Served; served != nil {
		out <- metrics.AdmissionCertificateExpiration.Value(float64(served.NotAfter.Unix()))
	}
	var last time.Time
	for _, a := range r.state.Authorities {
		if a.NotAfter.After(last) {
			last = a.NotAfter
		}
	}
	if !last.IsZero() {
		out <- metrics.AdmissionCAExpiration.Value(float64(last.Unix()))
	}
}
