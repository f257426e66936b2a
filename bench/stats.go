package main

import (
	"math"
	"slices"
	"time"
)

// percentile returns the nearest-rank percentile p, 0 < p <= 100, of values, or NaN without values. With fewer than 100 values, the 99th is
// the greatest.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// median returns the middle value, or the mean of the two in the middle. Without values it returns NaN.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

func worst(values []float64) float64 { return percentile(values, 100) }

// ratios divides each value by a reference.
func ratios(values []time.Duration, by time.Duration) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v) / float64(by)
	}
	return out
}

// bound is the least time for n tasks of length each, width at a time.
func bound(n, width int, each time.Duration) time.Duration {
	return time.Duration((n+width-1)/width) * each
}
