//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestBenchmarksAreChosenByName(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != len(suite) {
		t.Errorf("without a name %d benchmarks are chosen, error %v", len(all), err)
	}
	two, err := choose("noop,scale-up")
	if err != nil || len(two) != 2 || two[0].name != "scale-up" || two[1].name != "noop" {
		t.Errorf("chosen %+v, error %v", two, err)
	}
	for _, name := range []string{"scaleup", "noop,", "noop,noop"} {
		if _, err := choose(name); err == nil || !strings.Contains(err.Error(), "BENCH=list") {
			t.Errorf("%q is accepted: %v", name, err)
		}
	}
}

func TestLinesOfGoBenchmarks(t *testing.T) {
	name, ns, ok := benchmarkLine("BenchmarkCompute/48-vms-2         \t    9876\t    123456 ns/op\t   12 B/op\t 3 allocs/op\n")
	if !ok || name != "Compute/48-vms" || ns != 123456 {
		t.Errorf("name %q, %v ns, %v", name, ns, ok)
	}
	name, held, ok := figureOf("BenchmarkLongest/none_is_ready-2 \t 100\t 1072 ns/op\t 28082 ns/hold\n", holdUnit)
	if !ok || name != "Longest/none_is_ready" || held != 28082 {
		t.Errorf("name %q, %v ns, %v", name, held, ok)
	}
	for _, line := range []string{"ok  \tgithub.com/x/y\t1.2s", "PASS", "", "BenchmarkX-2 100 nothing"} {
		if _, _, ok := benchmarkLine(line); ok {
			t.Errorf("%q is taken for a benchmark", line)
		}
	}
}

func TestTheGrowthOfAStepIsThatOfItsBestRuns(t *testing.T) {
	steps := growthPoints(`
BenchmarkGrowthOfALook/3200-2    	 10	 640000 ns/op	 1 B/op	 2 allocs/op
BenchmarkGrowthOfALook/32-2      	 10	 6000 ns/op	 1 B/op	 2 allocs/op
BenchmarkGrowthOfALook/32-2      	 10	 6400 ns/op	 1 B/op	 2 allocs/op
BenchmarkGrowthOfALook/3200-2    	 10	 600000 ns/op	 1 B/op	 2 allocs/op
BenchmarkGrowthOfAPass/500-2     	 10	 7 ns/op
PASS
`)
	look := steps["ALook"]
	if len(steps) != 2 || len(look) != 2 || look[0] != (point{32, 6000}) || look[1] != (point{3200, 600000}) {
		t.Fatalf("points are %v", steps)
	}
	if got := exponent(look[0], look[1]); got < 0.99 || got > 1.01 {
		t.Errorf("a hundred times the cost at a hundred times the size has exponent %g, want 1", got)
	}
}
