//go:build unix

package failover

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// Series are values of gauges by name and labels, as in a scrape. A zero gauge is omitted.
type Series map[string]float64

// ParseScrape returns the gauges of a scrape that a replica reports for its share or for its own view: owned are those
// of groups whose bucket it holds, and of the buckets themselves; seen are those of its connections.
func ParseScrape(text string) (owned, seen Series, err error) {
	owned, seen = Series{}, Series{}
	into := map[string]Series{metrics.ShardingOwnedBuckets.Name: owned}
	for _, d := range metrics.All() {
		if d.Type == metrics.Gauge && d.Reporter == metrics.Owner {
			into[d.Name] = owned
		}
	}
	for _, d := range []*metrics.Definition{metrics.VCenterUp, metrics.VCenterComplete, metrics.VCenterVMs, metrics.MemberUp} {
		into[d.Name] = seen
	}
	for line := range strings.Lines(text) {
		id, number, _ := cutLast(strings.TrimSpace(line), " ")
		name, _, _ := strings.Cut(id, "{")
		series, wanted := into[name]
		if !wanted {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(number, &value); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", line, err)
		}
		if value != 0 {
			series[id] = value
		}
	}
	return owned, seen, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Sum adds series of several replicas, as Prometheus' sum does.
func Sum(of ...Series) Series {
	total := Series{}
	for _, one := range of {
		for id, value := range one {
			total[id] += value
		}
	}
	return total
}

// Above returns the series above the bound, sorted.
func (s Series) Above(bound Series) (all []string) {
	for _, id := range slices.Sorted(maps.Keys(s)) {
		if s[id] > bound[id] {
			all = append(all, fmt.Sprintf("%s is %g, want at most %g", id, s[id], bound[id]))
		}
	}
	return all
}

// Differ returns the series that differ from the wanted ones, sorted.
func (s Series) Differ(want Series) (all []string) {
	for _, id := range slices.Sorted(maps.Keys(Sum(s, want))) {
		if s[id] != want[id] {
			all = append(all, fmt.Sprintf("%s is %g, want %g", id, s[id], want[id]))
		}
	}
	return all
}
