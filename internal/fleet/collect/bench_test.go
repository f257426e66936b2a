package collect

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
)

// BenchmarkScrapeOf50000Groups scrapes a replica that holds all groups of 50 members, each with two of five vCenters. An
// eighth of them are not ready.
func BenchmarkScrapeOf50000Groups(b *testing.B) {
	const groups, members, vcenters, buckets = 50000, 50, 5, 128
	k, all := newKnown(), make(held, 0, buckets)
	for i := range vcenters {
		k.vcenters[fmt.Sprint("vc", i)] = struct{}{}
	}
	for i := range buckets {
		all = append(all, i)
	}
	for i := range groups {
		s := tally.Shape{State: tally.Running, Desired: 5}
		s.VMs[tally.VMReady] = 5
		if i%8 == 0 {
			s.State, s.Reason, s.Since = tally.Pending, "ScalingUp", now.Add(-time.Duration(i)*time.Second)
		}
		k.add(i%buckets, fmt.Sprint("m", i/7%members), fmt.Sprint("vc", (i/7%members+i%2)%vcenters), fmt.Sprint("g", i), s)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(Collector{k, all, noon{}})
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
