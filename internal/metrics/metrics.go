// Package metrics defines each metric of the operator once: its name, labels, help text, and the replica that reports it.
// Collectors, the reference page, alerts and dashboards read these definitions.
//
// No metric has the labels namespace, pod, job or instance, which belong to Prometheus. No label names a group, VM, user
// or host.
package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Reporter is the replica that reports a metric. It determines how series of several replicas are aggregated.
type Reporter string

// Reporters.
const (
	// Owner metrics come from the groups in the buckets of this replica. Aggregate with sum.
	Owner Reporter = "owner"
	// Everyone metrics show each replica's view of a connection. Aggregate with max or min.
	Everyone Reporter = "everyone"
	// Leader metrics exist only while the replica leads. Aggregate with max.
	Leader Reporter = "leader"
	// Process metrics show the work of a process since its start, or its present state. Aggregate with sum, and counters with sum(rate()).
	Process Reporter = "process"
)

// Type of a metric.
type Type string

// Types.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Other replaces unknown values of a label. Users of members can write any reason and any name of a vCenter, and each
// would be a series.
const Other = "Other"

// Label of a metric.
type Label struct {
	Name string
	// Values are all values of the label. Nil means that they are not a closed set.
	Values []string
	// names is set if the label names an object of the hub. Then [Retain] removes the series of deleted objects.
	names bool
}

// Definition of a metric.
type Definition struct {
	Name string
	Type Type
	// Help is one sentence.
	Help     string
	Reporter Reporter
	Labels   []Label
	// Buckets of a histogram.
	Buckets []float64

	desc *prometheus.Desc
}

// all are the definitions, in the order of their files.
var all []*Definition

// All returns every metric of the operator, sorted by name.
func All() []*Definition {
	return slices.SortedFunc(slices.Values(all), func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
}

func define(name string, of Type, by Reporter, help string, labels ...Label) *Definition {
	d := &Definition{Name: name, Type: of, Help: help, Reporter: by, Labels: labels}
	d.desc = prometheus.NewDesc(name, help, d.LabelNames(), nil)
	all = append(all, d)
	return d
}

// in sets the buckets of a histogram.
func (d *Definition) in(buckets ...float64) *Definition {
	d.Buckets = buckets
	return d
}

// object is a label that names an object of the hub.
func object(name string) Label { return Label{Name: name, names: true} }

// oneOf is a label with a closed set of values.
func oneOf(name string, values ...string) Label { return Label{Name: name, Values: values} }

// LabelNames returns the names of the labels, in the order of their values.
func (d *Definition) LabelNames() []string {
	names := make([]string, 0, len(d.Labels))
	for _, l := range d.Labels {
		names = append(names, l.Name)
	}
	return names
}

// Desc returns the description for a collector.
func (d *Definition) Desc() *prometheus.Desc { return d.desc }

// Value is one series of a gauge.
func (d *Definition) Value(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, value, labels...)
}

// NewCounter returns a counter for a process. [Retain] removes its series of deleted objects.
func (d *Definition) NewCounter() *prometheus.CounterVec {
	return made(d, prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.LabelNames()))
}

// NewGauge returns a gauge for a process. [Retain] removes its series of deleted objects.
func (d *Definition) NewGauge() *prometheus.GaugeVec {
	return made(d, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.LabelNames()))
}

// NewHistogram returns a histogram for a process. [Retain] removes its series of deleted objects.
func (d *Definition) NewHistogram() *prometheus.HistogramVec {
	return made(d, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: d.Buckets}, d.LabelNames()))
}

// Describe sends the descriptions of metrics.
func Describe(out chan<- *prometheus.Desc, of ...*Definition) {
	for _, d := range of {
		out <- d.desc
	}
}
