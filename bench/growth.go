//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// growthPrefix begins the names of the Go benchmarks that measure a step at several sizes.
const growthPrefix = "GrowthOf"

// linear are the steps that can cost as much more as their world is larger. All others cost the same at every size.
var linear = map[string]bool{"ALook": true, "ASearch": true}

// point is the cost of a step at a size.
type point struct {
	size int
	ns   float64
}

// growth measures steps in worlds of three sizes. It compares times of one run, so that the speed of the machine does not matter.
func growth(ctx context.Context, s *session, _ *rig) error {
	out, err := s.goBenchmarks(ctx, "-bench=^Benchmark"+growthPrefix, "-benchtime=200ms", "-count=3",
		"./internal/fleet", "./internal/vsphere/govmomi", "./internal/vsphere/inventory", "./internal/vsphere/operations")
	if err != nil {
		return err
	}
	steps := growthPoints(out)
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		points := steps[name]
		small, large := points[0], points[len(points)-1]
		for _, p := range points {
			s.add(fmt.Sprintf("growth/%s/%d", name, p.size), p.ns/1000, "µs", noGoal, "best of 3")
		}
		if linear[name] {
			s.add("growth/"+name+"/exponent", exponent(small, large), "", atMost(1.1), "cost grows as size to this power, from %d to %d", small.size, large.size)
		} else {
			s.add("growth/"+name+"/ratio", large.ns/small.ns, "×", atMost(1.2), "cost at %d beside that at %d", large.size, small.size)
		}
	}
	return nil
}

// growthPoints returns the best cost of each step at each size, sorted by size.
func growthPoints(out string) map[string][]point {
	steps := map[string][]point{}
	for line := range strings.Lines(out) {
		name, ns, ok := benchmarkLine(line)
		step, size, sized := strings.Cut(strings.TrimPrefix(name, growthPrefix), "/")
		n, err := strconv.Atoi(size)
		if !ok || !sized || err != nil {
			continue
		}
		at := slices.IndexFunc(steps[step], func(p point) bool { return p.size == n })
		if at < 0 {
			steps[step] = append(steps[step], point{n, ns})
		} else {
			steps[step][at].ns = min(steps[step][at].ns, ns)
		}
	}
	for _, points := range steps {
		slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.size, b.size) })
	}
	return steps
}

// exponent is the power of the size to which the cost grows.
func exponent(small, large point) float64 {
	return math.Log(large.ns/small.ns) / math.Log(float64(large.size)/float64(small.size))
}
