package alerts

import (
	"cmp"

	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// absent is the value of a missing series.
var absent = math.NaN()

// series is one series of a story: its value in normal operation and during the fault.
type series struct {
	id          string
	kind        seriesKind
	well, fault float64
}

// seriesKind is the meaning of the two numbers of a series.
type seriesKind int

const (
	// value: the number itself.
	valueKind seriesKind = iota
	// count: a counter's growth per minute.
	countKind
	// stamp: a timestamp, this many seconds after the present moment.
	stampKind
)

func gauge(id string, well, fault float64) series   { return series{id, valueKind, well, fault} }
func counter(id string, well, fault float64) series { return series{id, countKind, well, fault} }
func stamp(id string, well, fault time.Duration) series {
	return series{id, stampKind, well.Seconds(), fault.Seconds()}
}

// always is a gauge that the fault does not change.
func always(id string, value float64) series { return gauge(id, value, value) }

// steadily is a counter that grows at the same rate during the fault.
func steadily(id string, perMinute float64) series { return counter(id, perMinute, perMinute) }

// story is the sequence of an alert: the fault begins after the fleet has run for some time, lasts, and ends.
type story struct {
	alert string
	// says is the reason for the story, if one alert has several.
	says string
	// series in addition to those of the busy fleet.
	series []series
	// fires is the time from the start of the fault until the alert fires.
	fires time.Duration
	// short is the duration of a fault that is too short for an alert. Zero: the longest whose condition, which ends as
	// late as that of the long fault, has not yet held for the rule's `for`.
	short time.Duration
	// lasts is the duration of the long story's fault. Zero: ten minutes more than fires.
	lasts time.Duration
	// resolves is the time from the end of the fault until the alert ends.
	resolves time.Duration
	// afterwards is how long the run continues after the expected end of the alert. Zero: five minutes.
	afterwards time.Duration
	// want has the alerts that fire at the end of the fault, each with its summary.
	want []string
}

func (s story) shortFault() time.Duration {
	if s.short > 0 {
		return s.short
	}
	return s.fires - max(0, s.resolves) - step
}

func (s story) longFault() time.Duration {
	if s.lasts > 0 {
		return s.lasts
	}
	return s.fires + 10*time.Minute
}

// settle is the fleet's time before the fault: longer than most windows of the rules.
const settle = 35 * time.Minute

// length is the duration of a run with a fault of this duration.
func (s story) length(fault time.Duration) time.Duration {
	return settle + fault + max(0, s.resolves) + cmp.Or(s.afterwards, 5*time.Minute)
}

// timeline produces the samples of a story.
type timeline struct {
	series []series
	parsed []labels.Labels
	totals []float64
	from   time.Duration
	until  time.Duration
}

// newTimeline has the series of the story, and those of the busy fleet that the story does not replace.
func newTimeline(s story, fault time.Duration) (*timeline, error) {
	t := &timeline{from: settle, until: settle + fault}
	replaced := map[string]bool{}
	for _, one := range s.series {
		replaced[one.id] = true
		t.series = append(t.series, one)
	}
	for _, one := range busyFleet {
		if !replaced[one.id] {
			t.series = append(t.series, one)
		}
	}
	for _, one := range t.series {
		parsed, _, err := syntax.ParseSeriesDesc(one.id + " 0")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.id, err)
		}
		t.parsed = append(t.parsed, labels.NewBuilder(parsed).Set("namespace", namespace).Labels())
	}
	t.totals = make([]float64, len(t.series))
	return t, nil
}

// next returns the samples of a moment; moments are one step apart.
func (t *timeline) next(since time.Duration) []sample {
	out := make([]sample, len(t.series))
	for i, one := range t.series {
		v := one.well
		if since >= t.from && since < t.until {
			v = one.fault
		}
		switch one.kind {
		case countKind:
			if !math.IsNaN(v) {
				t.totals[i] += v * step.Minutes()
				v = t.totals[i]
			}
		case stampKind:
			v += float64(epoch.Add(since).Unix())
		case valueKind:
		}
		out[i] = sample{t.parsed[i], v}
	}
	return out
}
