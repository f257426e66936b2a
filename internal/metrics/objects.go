package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// vector is a metric of a process with its series.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

// vectors are the metrics of this process that have a series for each object of the hub.
var vectors struct {
	sync.Mutex
	by map[string][]vector // by label
}

// made records a metric whose labels name objects of the hub.
func made[V vector](d *Definition, v V) V {
	vectors.Lock()
	defer vectors.Unlock()
	if vectors.by == nil {
		vectors.by = map[string][]vector{}
	}
	for _, l := range d.Labels {
		if l.names {
			vectors.by[l.Name] = append(vectors.by[l.Name], v)
		}
	}
	return v
}

// Retain removes the series of objects of the hub that do not exist any more, in all metrics of this process that have the label. It keeps series without an object.
// A series that is in use begins at zero again.
func Retain(label string, exists func(object string) bool) {
	vectors.Lock()
	defer vectors.Unlock()
	for _, v := range vectors.by[label] {
		for _, object := range values(v, label) {
			if object != "" && object != Other && !exists(object) {
				v.DeletePartialMatch(prometheus.Labels{label: object})
			}
		}
	}
}

// values returns the values of a label, once for each series.
func values(v vector, label string) (values []string) {
	series := make(chan prometheus.Metric)
	go func() {
		defer close(series)
		v.Collect(series)
	}()
	for metric := range series {
		var read dto.Metric
		if metric.Write(&read) != nil {
			continue
		}
		for _, l := range read.GetLabel() {
			if l.GetName() == label {
				values = append(values, l.GetValue())
			}
		}
	}
	return values
}
