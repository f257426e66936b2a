// Package queuemetrics reports how many groups wait for a worker.
package queuemetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// Source returns the waiting requests. *vmgroup.Reconciler implements it.
type Source interface {
	// Waiting returns the number of groups of each member that wait for a worker.
	Waiting() map[string]int
}

// Collector reports the groups that wait for a worker of this replica.
type Collector struct{ Queue Source }

// Describe implements prometheus.Collector.
func (c Collector) Describe(out chan<- *prometheus.Desc) { metrics.Describe(out, metrics.QueueWaiting) }

// Collect implements prometheus.Collector.
func (c Collector) Collect(out chan<- prometheus.Metric) {
	for member, n := range c.Queue.Waiting() {
		if n > 0 {
			out <- metrics.QueueWaiting.Value(float64(n), member)
		}
	}
}
