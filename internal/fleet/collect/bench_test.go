package collect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// bucketCount is the default number of buckets.
const bucketCount = 128

// fiftyThousand are all groups of 50 members, each with two of five vCenters, and a replica that holds all of them. One in this many groups is not
// ready.
func fiftyThousand(one int) Collector {
	const groups, members, vcenters = 50000, 50, 5
	k, all := newKnown(), make(held, 0, bucketCount)
	for i := range vcenters {
		k.vcenters[fmt.Sprint("vc", i)] = struct{}{}
	}
	for i := range bucketCount {
		all = append(all, i)
	}
	for i := range groups {
		s := tally.Shape{State: tally.Running, Desired: 5}
		s.VMs[tally.VMReady] = 5
		if i%one == 0 {
			s.State, s.Reason, s.Since = tally.Pending, "ScalingUp", now.Add(-time.Duration(i)*time.Second)
		}
		k.add(i%bucketCount, fmt.Sprint("m", i/7%members), fmt.Sprint("vc", (i/7%members+i%2)%vcenters), fmt.Sprint("g", i), s)
	}
	return Collector{k, all, noon{}}
}

// BenchmarkScrapeOf50000Groups is a whole scrape.
func BenchmarkScrapeOf50000Groups(b *testing.B) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(fiftyThousand(8))
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLongestHoldOfAScrapeOf50000Groups reports for how long a scrape holds a lock that passes and events of groups need,
// in ns/hold, while all groups or few are not ready: the longest of each bucket and of the Fleet. The time of a bucket alone is
// a bound of that. Of all rounds the shortest time of each lock counts, which excludes other work of the machine.
func BenchmarkLongestHoldOfAScrapeOf50000Groups(b *testing.B) {
	for name, one := range map[string]int{"one in eight is not ready": 8, "none is ready": 1} {
		b.Run(name, func(b *testing.B) {
			c, f := fiftyThousand(one), fleet.New(noon{}, massdeletion.DefaultRules(), nil)
			for vcenter := range c.Fleet.VCenters() {
				f.SetVCenter(vcenter)
			}
			holds := make([]time.Duration, bucketCount+1)
			for b.Loop() {
				for i := range holds {
					began := time.Now()
					if i < bucketCount {
						c.Fleet.Tallies().Sums([]int{i}, now)
					} else {
						f.VCenters()
					}
					if took := time.Since(began); holds[i] == 0 || took < holds[i] {
						holds[i] = took
					}
				}
			}
			b.ReportMetric(float64(slices.Max(holds).Nanoseconds()), "ns/hold")
		})
	}
}
