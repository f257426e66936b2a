//go:build unix

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const (
	// waitingBenchmark takes over groups whose passes wait for an API server.
	waitingBenchmark = "TakeoverOfGroupsWhoseWritesWait"
	// waitingMetric is the unit of its figure.
	waitingMetric = "x-work"
)

// waitingPasses measures whether passes that wait for an API server keep all slots of their member busy. It runs the controller without servers, so
// that it measures the queue and not this machine's API server.
func waitingPasses(ctx context.Context, s *session, _ *rig) error {
	out, err := s.goBenchmarks(ctx, "-bench="+waitingBenchmark, "-benchtime=3x", "./internal/controller/vmgroup")
	if err != nil {
		return err
	}
	fields := strings.Fields(out)
	for i, unit := range fields {
		if unit == waitingMetric && i > 0 {
			ratio, err := strconv.ParseFloat(fields[i-1], 64)
			if err != nil {
				return fmt.Errorf("read the figure of %s: %w", waitingBenchmark, err)
			}
			s.add("waiting-passes/last", ratio, "× work", atMost(1.3),
				"1,000 groups of one member are taken over, each with a write of 20 ms; until the last is served, beside the work divided by the 8 places of a member; worst of 3")
			return nil
		}
	}
	return fmt.Errorf("%s reports no %s", waitingBenchmark, waitingMetric)
}
