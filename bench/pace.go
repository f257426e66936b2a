package main

import (
	"slices"
	"time"
)

// deed is something that a process had done at a moment.
type deed struct {
	by string
	at time.Time
}

// together returns the moments, in order, up to which all so many processes had something to do: after the last deed of
// the one that ran out of work first, the others say nothing of what all can do together. Fewer processes than that
// have no such moment.
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

// paces divides ordered moments into stretches of the same number of deeds and returns the deeds per second of each. What is
// left at the end is too short to count. The first skip moments are the start; skip is at least 1.
func paces(moments []time.Time, skip, stretch int) []float64 {
	var out []float64
	for i := skip - 1; i+stretch < len(moments); i += stretch {
		out = append(out, float64(stretch)/moments[i+stretch].Sub(moments[i]).Seconds())
	}
	return out
}
