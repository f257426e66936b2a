package main

import (
	"slices"
	"time"
)

// deed is a finished action of a process.
type deed struct {
	by string
	at time.Time
}

// together returns, in order, the moments at which at least so many processes still had work. It ends at the last deed of
// the process that ran out of work first: later deeds do not show the pace of all processes together. Fewer processes
// than that have no such moment.
func together(deeds []deed, processes int) []time.Time {
	last := map[string]time.Time{}
	for _, d := range deeds {
		if d.at.After(last[d.by]) {
			last[d.by] = d.at
		}
	}
	if len(last) < processes {
		return nil
	}
	var end time.Time
	for _, at := range last {
		if end.IsZero() || at.Before(end) {
			end = at
		}
	}
	var moments []time.Time
	for _, d := range deeds {
		if !d.at.After(end) {
			moments = append(moments, d.at)
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	return moments
}

// paces divides ordered moments into stretches of the same number of deeds, and returns the deeds per second of each. It drops an
// incomplete stretch at the end. The first skip moments are the start. skip must be at least 1.
func paces(moments []time.Time, skip, stretch int) []float64 {
	var out []float64
	for i := skip - 1; i+stretch < len(moments); i += stretch {
		out = append(out, float64(stretch)/moments[i+stretch].Sub(moments[i]).Seconds())
	}
	return out
}
