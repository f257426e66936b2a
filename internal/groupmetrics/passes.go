// Package groupmetrics counts the actions of passes over groups, and the changes of VMs that passes observe.
package groupmetrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Passes counts for all passes of a process. It is safe for concurrent use. A nil *Passes counts nothing.
type Passes struct {
	actions, destroyed, drift *prometheus.CounterVec
	ready                     *prometheus.HistogramVec
	making                    making
}

// New returns Passes whose metrics are in the registry.
func New(registry prometheus.Registerer) (*Passes, error) {
	p := &Passes{
		actions: metrics.Actions.NewCounter(), destroyed: metrics.VMsDestroyed.NewCounter(), drift: metrics.Drift.NewCounter(),
		ready: metrics.VMReadyTime.NewHistogram(), making: newMaking(),
	}
	return p, errors.Join(registry.Register(p.actions), registry.Register(p.destroyed), registry.Register(p.drift), registry.Register(p.ready))
}

// Submitted counts an action, and whether vCenter accepted it.
func (p *Passes) Submitted(vcenter string, action plan.Action, err error) {
	if p == nil {
		return
	}
	result := "accepted"
	if err != nil {
		result = "refused"
	}
	p.actions.WithLabelValues(vcenter, string(action.Kind), string(action.Cause), result).Inc()
}

// begin creates the drift counters of a vCenter with value zero. Prometheus computes no increase for the first value of a series.
func (p *Passes) begin(vcenter string) {
	for _, kind := range metrics.DriftKinds {
		p.drift.WithLabelValues(vcenter, kind).Add(0)
	}
}

// Destroyed counts a request to vCenter to destroy a VM.
func (p *Passes) Destroyed(member string, why plan.RemovalCause) {
	if p != nil {
		p.destroyed.WithLabelValues(member, string(why)).Inc()
	}
}

// witnessed are the changes that only events of vCenter show. Status shows all others; see drifts.
var witnessed = map[vsphere.ChangeKind]string{
	vsphere.ChangeReconfigured: "resized", vsphere.ChangeRenamed: "renamed", vsphere.ChangeMoved: "moved",
}

// Changed counts a change that the operator did not make and that an event of vCenter reports.
func (p *Passes) Changed(vcenter string, kind vsphere.ChangeKind) {
	if name, counts := witnessed[kind]; counts && p != nil {
		p.begin(vcenter)
		p.drift.WithLabelValues(vcenter, name).Inc()
	}
}

// Saw counts the changes of VMs from outside between two statuses of a group: the last one that was counted, and the next. vms are its VMs in vCenter.
func (p *Passes) Saw(vcenter string, counted, next *v1alpha1.VmGroupStatus, vms []vsphere.VM) {
	if p == nil {
		return
	}
	p.begin(vcenter)
	for _, kind := range drifts(counted, next, vms) {
		p.drift.WithLabelValues(vcenter, kind).Inc()
	}
}

// Written counts the VMs that are ready for the first time by a status that was just stored.
func (p *Passes) Written(vcenter string, key vsphere.GroupKey, next *v1alpha1.VmGroupStatus, now time.Time) {
	if p == nil {
		return
	}
	for _, took := range p.making.see(key, next, now) {
		p.ready.WithLabelValues(vcenter).Observe(took.Seconds())
	}
}
