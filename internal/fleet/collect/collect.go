// Package collect exports the counts of the fleet as metrics.
package collect

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/metrics"
)

// Fleet has the groups. *fleet.Fleet implements it.
type Fleet interface {
	Tallies() *tally.Book
	VCenters() map[string]struct{}
}

// Shards returns the buckets that this replica holds. *sharding.Replica implements it.
type Shards interface {
	HeldBuckets() []int
}

// Clock returns the time.
type Clock interface{ Now() time.Time }

// Collector reports the groups whose buckets this replica holds at the time of the scrape, so that sums over all
// replicas count each group once. Gauges that are zero have no series.
type Collector struct {
	Fleet  Fleet
	Shards Shards
	Clock  Clock
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(out chan<- *prometheus.Desc) {
	metrics.Describe(out, metrics.Groups, metrics.GroupsByReason, metrics.GroupsNotReady, metrics.VMs, metrics.VMsDesired, metrics.GroupsHeld, metrics.Rollouts)
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(out chan<- prometheus.Metric) {
	known := c.Fleet.VCenters()
	gauges := gauges{}
	for cell, sum := range c.Fleet.Tallies().Sums(c.Shards.HeldBuckets(), c.Clock.Now()) {
		// Users of members can name any vCenter.
		vcenter := cell.VCenter
		if _, exists := known[vcenter]; !exists {
			vcenter = metrics.Other
		}
		gauges.addCell(cell.Member, vcenter, sum)
	}
	for is, value := range gauges {
		if value == 0 {
			continue
		}
		labels := is.labels[:len(is.of.Labels)]
		out <- is.of.Value(float64(value), labels...)
	}
}

type series struct {
	of     *metrics.Definition
	labels [3]string
}

type gauges map[series]int

func (g gauges) add(value int, of *metrics.Definition, labels ...string) {
	if value == 0 {
		return
	}
	is := series{of: of}
	copy(is.labels[:], labels)
	g[is] += value
}

func (g gauges) addCell(member, vcenter string, s *tally.Sum) {
	for i, state := range metrics.GroupStates {
		g.add(s.Groups[i], metrics.Groups, member, vcenter, state)
	}
	for reason, n := range s.Reasons {
		g.add(n, metrics.GroupsByReason, vcenter, reason)
	}
	for i, age := range metrics.NotReadyFor {
		g.add(s.LongerThan[i], metrics.GroupsNotReady, member, vcenter, age)
	}
	for i, state := range metrics.VMStates {
		g.add(s.VMs[i], metrics.VMs, member, vcenter, state)
	}
	g.add(s.Desired, metrics.VMsDesired, member, vcenter)
	for i, reason := range metrics.HoldReasons {
		g.add(s.Held[i], metrics.GroupsHeld, member, reason)
	}
	for i, state := range metrics.RolloutStates {
		g.add(s.Rollouts[i+1], metrics.Rollouts, vcenter, state)
	}
}
