package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestPercentilesAreValuesThatWereMeasured(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // descending: order does not matter
	}
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{
		{hundred, 99, 99}, {hundred, 100, 100}, {hundred, 50, 50}, {hundred, 0.5, 1},
		{[]float64{3, 1, 2}, 99, 3}, {[]float64{7}, 99, 7},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile %v of %d values is %v, want %v", c.p, len(c.values), got, c.want)
		}
	}
	if !slices.Equal(hundred[:2], []float64{100, 99}) {
		t.Error("the values were sorted in place")
	}
	if got := percentile(nil, 99); !math.IsNaN(got) {
		t.Errorf("percentile of nothing is %v", got)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{7}, 7}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v", got)
	}
}

func TestBoundIsFullRoundsOfTasks(t *testing.T) {
	for _, c := range []struct{ n, width, rounds int }{{48, 16, 3}, {48, 8, 6}, {49, 16, 4}, {1, 16, 1}} {
		if got, want := bound(c.n, c.width, time.Second), time.Duration(c.rounds)*time.Second; got != want {
			t.Errorf("bound of %d tasks %d wide is %s, want %s", c.n, c.width, got, want)
		}
	}
	if got := ratios([]time.Duration{3 * time.Second}, 2*time.Second); !slices.Equal(got, []float64{1.5}) {
		t.Errorf("ratios: %v", got)
	}
}
