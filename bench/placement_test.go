package main

import (
	"slices"
	"testing"
)

func TestFewestClaims(t *testing.T) {
	for _, c := range []struct {
		about string
		held  []int
		n     int
		want  int
	}{
		{"a fourth joins three", []int{43, 43, 42}, 4, 32},
		{"one of four leaves", []int{32, 32, 32}, 3, 32},
		{"a sixth joins five", []int{26, 26, 26, 25, 25}, 6, 21},
		{"nothing changes", []int{43, 43, 42}, 3, 0},
		{"all begins", nil, 3, 128},
	} {
		held := map[string]int{}
		for i, count := range c.held {
			held[string(rune('a'+i))] = count
		}
		if got := fewestClaims(held, 128, c.n); got != c.want {
			t.Errorf("%s: %d claims, want %d", c.about, got, c.want)
		}
	}
}

func TestUnevennessIsOfAllGroupsAndTheSameEachTime(t *testing.T) {
	if got := unevenness(1, 3); slices.Compare(got, []float64{1, 1, 1}) != 0 {
		t.Errorf("one replica has %v times the mean", got)
	}
	first := unevenness(5, 20)
	if slices.Compare(first, unevenness(5, 20)) != 0 {
		t.Error("two runs differ")
	}
	for _, v := range first {
		if v < 1 || v > 2 {
			t.Errorf("the fullest replica has %v times the mean", v)
		}
	}
	if first[0] == first[1] && first[1] == first[2] {
		t.Error("all fleets are the same")
	}
}
