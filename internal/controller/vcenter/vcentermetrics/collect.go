// Package vcentermetrics reports a replica's view of vCenters.
package vcentermetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// VCenter is this replica's view of one vCenter.
type VCenter struct {
	Name string
	// Reason of condition Ready, or "" before it is known.
	Reason              string
	Reachable, Complete bool
	VMs                 int
	// Load is nil without a connection that serves groups.
	Load *vsphere.Load
	// Orphaned and Released are numbers of VMs.
	Orphaned, Released int
}

// Source provides the view of vCenters. *vcenter.Reconciler implements it.
type Source interface {
	// Seen returns the view of each VCenter, from memory.
	Seen() []VCenter
}

// Leader reports whether this replica leads.
type Leader interface{ Leading() bool }

// Clock returns the time.
type Clock interface{ Now() time.Time }

// Collector reports this replica's view of each vCenter and, while it leads, the VMs without a group.
type Collector struct {
	VCenters Source
	Leader   Leader
	Clock    Clock
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(out chan<- *prometheus.Desc) {
	metrics.Describe(out, metrics.VCenterUp, metrics.VCenterStatus, metrics.VCenterComplete, metrics.VCenterVMs, metrics.VCenterTasks,
		metrics.VCenterTaskLimit, metrics.VCenterTaskOldest, metrics.OrphanedVMs, metrics.ReleasedVMs)
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(out chan<- prometheus.Metric) {
	leads := c.Leader.Leading()
	for _, vc := range c.VCenters.Seen() {
		out <- metrics.VCenterUp.Value(number(vc.Reachable), vc.Name)
		out <- metrics.VCenterComplete.Value(number(vc.Complete), vc.Name)
		if vc.Reason != "" {
			out <- metrics.VCenterStatus.Value(1, vc.Name, vc.Reason)
		}
		unlessZero(out, metrics.VCenterVMs, vc.VMs, vc.Name)
		if vc.Load != nil {
			c.load(out, vc.Name, *vc.Load)
		}
		if leads {
			unlessZero(out, metrics.OrphanedVMs, vc.Orphaned, vc.Name)
			unlessZero(out, metrics.ReleasedVMs, vc.Released, vc.Name)
		}
	}
}

func (c Collector) load(out chan<- prometheus.Metric, vcenter string, l vsphere.Load) {
	unlessZero(out, metrics.VCenterTasks, l.Held, vcenter, "running")
	unlessZero(out, metrics.VCenterTasks, l.Waiting, vcenter, "waiting")
	out <- metrics.VCenterTaskLimit.Value(float64(l.Limit), vcenter)
	if !l.Oldest.IsZero() {
		out <- metrics.VCenterTaskOldest.Value(max(0, c.Clock.Now().Sub(l.Oldest).Seconds()), vcenter)
	}
}

func unlessZero(out chan<- prometheus.Metric, of *metrics.Definition, value int, labels ...string) {
	if value != 0 {
		out <- of.Value(float64(value), labels...)
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
