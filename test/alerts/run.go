package alerts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// change is a moment at which the set of firing alerts changes.
type change struct {
	since  time.Duration
	firing []fired
}

// trace has the changes of a run.
type trace []change

func (t trace) String() string {
	var lines []string
	for _, c := range t {
		lines = append(lines, fmt.Sprintf("%s: %s", c.since, c.firing))
	}
	return strings.Join(lines, "\n")
}

// of is the trace of one alert.
func (t trace) of(alert string) (own trace) {
	var last []fired
	for _, c := range t {
		firing := slices.DeleteFunc(slices.Clone(c.firing), func(f fired) bool { return f.alert != alert })
		if !sameAlerts(firing, last) {
			own = append(own, change{c.since, firing})
		}
		last = firing
	}
	return own
}

// sameAs reports whether the same alerts fire at the same moments.
func (t trace) sameAs(other trace) bool {
	return slices.EqualFunc(t, other, func(a, b change) bool { return a.since == b.since && sameAlerts(a.firing, b.firing) })
}

// sameAlerts compares without the summaries, whose values change constantly.
func sameAlerts(a, b []fired) bool {
	return slices.EqualFunc(a, b, func(a, b fired) bool { return a.alert == b.alert && a.labels == b.labels })
}

// bounds are the moments at which an alert first and last fires; -1 if none does.
func (t trace) bounds() (begins, ends time.Duration) {
	if len(t) == 0 {
		return -1, -1
	}
	if last := t[len(t)-1]; len(last.firing) == 0 {
		return t[0].since, last.since
	}
	return t[0].since, -1
}

// feed returns the samples of each moment of a run, one step apart.
type feed interface {
	next(since time.Duration) []sample
}

// result is the result of one set of rules in a run.
type result struct {
	trace trace
	// seen are the alerts that fire at the requested moment.
	seen []fired
}

// play evaluates sets of rules over the same samples. The first set is stored: the others can read its records. At
// the moment look it stores the firing alerts.
func play(samples feed, length, look time.Duration, sets ...[]rulefmt.Rule) ([]result, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	loaded := make([]*ruleSet, len(sets))
	for i, set := range sets {
		if loaded[i], err = e.load(fmt.Sprint(i), set, i == 0); err != nil {
			return nil, err
		}
	}
	results, last := make([]result, len(sets)), make([][]fired, len(sets))
	for since := time.Duration(0); since <= length; since += step {
		at := epoch.Add(since)
		if err := e.scrape(at, samples.next(since)); err != nil {
			return nil, err
		}
		for i, set := range loaded {
			firing, err := set.eval(at)
			if err != nil {
				return nil, err
			}
			if !sameAlerts(firing, last[i]) {
				results[i].trace = append(results[i].trace, change{since, firing})
				last[i] = firing
			}
			if since == look {
				results[i].seen = firing
			}
		}
	}
	return results, nil
}
