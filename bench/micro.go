//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// reconcileBenchmark is a whole reconcile without work, from the key to the decision.
const reconcileBenchmark = "ReconcileWithoutChange"

// grantBenchmarks measure a grant among 20,000 groups.
const grantBenchmarks = "GrantAmong20000"

// passBenchmarks measure a pass's use of a vCenter's budget beside up to 20,000 waiting groups.
const passBenchmarks = "PassBesideWaiting"

// scrapeBenchmark is a scrape of a replica with 50,000 groups. holdUnit is the unit of the longest time for which a scrape holds a lock that passes need.
const (
	scrapeBenchmark = "ScrapeOf50000Groups"
	holdUnit        = "ns/hold"
)

// micro runs the Go benchmarks of the decisions, without any server.
func micro(ctx context.Context, s *session, _ *rig) error {
	out, err := s.goBenchmarks(ctx, "-bench=.", "-skip="+waitingBenchmark, "-benchtime=300ms", "-benchmem",
		"./internal/plan/...", "./internal/vsphere/budget/...", "./internal/controller/vmgroup", "./internal/quota", "./internal/fleet/collect")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if name, ns, ok := benchmarkLine(line); ok {
			limit := noGoal
			switch {
			case name == reconcileBenchmark:
				limit = atMost(100)
			case strings.HasPrefix(name, grantBenchmarks):
				limit = atMost(10_000)
			case strings.HasPrefix(name, passBenchmarks):
				limit = atMost(200)
			case name == scrapeBenchmark:
				limit = atMost(20_000)
			}
			s.add("micro/"+name, ns/1000, "µs", limit, "go test -bench, per operation")
		}
		if name, ns, ok := figureOf(line, holdUnit); ok {
			s.add("micro/"+name+"/hold", ns/1000, "µs", atMost(1000), "the longest time for which a scrape holds a lock of the fleet")
		}
	}
	return nil
}

// goBenchmarks runs Go benchmarks and returns their output.
func (s *session) goBenchmarks(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-run=^$"}, args...)...) //nolint:gosec // the arguments are this package's own
	cmd.Dir, cmd.Stderr = s.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	return string(out), nil
}

// benchmarkLine returns the name and the nanoseconds per operation from a line of go test -bench.
func benchmarkLine(line string) (name string, ns float64, ok bool) { return figureOf(line, "ns/op") }

// figureOf returns the name and the figure with this unit from a line of go test -bench.
func figureOf(line, unit string) (name string, figure float64, ok bool) {
	fields := strings.Fields(line)
	at := slices.Index(fields, unit)
	if at < 3 || !strings.HasPrefix(fields[0], "Benchmark") {
		return "", 0, false
	}
	figure, err := strconv.ParseFloat(fields[at-1], 64)
	name = strings.TrimPrefix(fields[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i] // remove the number of cores
	}
	return name, figure, err == nil
}
