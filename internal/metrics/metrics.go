// Package metrics defines each metric of the operator once: its name, its labels, what it measures and which replica
// reports it. Collectors, the reference page, alerts and dashboards read these definitions.
//
// A metric has no label namespace, pod, job or instance, which are Prometheus' own, and none with the name of a group, VM,
// user or host.
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
	// Owner reports what it computes from the groups whose bucket it holds. Aggregate with sum.
	Owner Reporter = "owner"
	// Everyone reports its own view of a connection. Aggregate with max or min.
	Everyone Reporter = "everyone"
	// Leader reports only while it leads. Aggregate with max.
	Leader Reporter = "leader"
	// Process reports what it did since it started, or what it has now. Aggregate with sum, and counters with sum(rate()).
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

// Other replaces the value of a label that is none of the known ones. Users of members can write any reason and any name
// of a vCenter, and each would be a series.
const Other = "Other"

// Label of a metric.
type Label struct {
	Name string
	// Values are all that the label can have. Nil is one value for each object of the hub that the label names.
	Values []string
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
func object(name string) Label { return Label{Name: name} }

// oneOf is a label with a closed set of values.
func oneOf(name string, values ...string) Label { return Label{name, values} }

// LabelNames returns the names of the labels, in the order in which values are given.
func (d *Definition) LabelNames() []string {
	names := make([]string, 0, len(d.Labels))
	for _, l := range d.Labels {
		names = append(names, l.Name)
	}
	return names
}

// Desc is the description that a collector sends.
func (d *Definition) Desc() *prometheus.Desc { return d.desc }

// Value is one series of a gauge.
func (d *Definition) Value(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, value, labels...)
}

// NewCounter returns a counter that a process counts with.
func (d *Definition) NewCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.LabelNames())
}

// NewGauge returns a gauge that a process sets.
func (d *Definition) NewGauge() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.LabelNames())
}

// NewHistogram returns a histogram that a process observes with.
func (d *Definition) NewHistogram() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: d.Buckets}, d.LabelNames())
}

// Describe sends the descriptions of metrics.
func Describe(out chan<- *prometheus.Desc, of ...*Definition) {
	for _, d := range of {
		out <- d.desc
	}
}
