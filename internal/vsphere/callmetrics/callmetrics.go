// Package callmetrics counts requests to vCenters, and measures their tasks.
package callmetrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// Calls counts for all connections of a process. It is safe for concurrent use.
type Calls struct {
	requests            *prometheus.CounterVec
	answered, taskTimes *prometheus.HistogramVec
}

// New returns Calls and registers its metrics.
func New(registry prometheus.Registerer) (*Calls, error) {
	c := &Calls{
		requests: metrics.VCenterRequests.NewCounter(), answered: metrics.VCenterRequestTime.NewHistogram(), taskTimes: metrics.VCenterTaskTime.NewHistogram(),
	}
	return c, errors.Join(registry.Register(c.requests), registry.Register(c.answered), registry.Register(c.taskTimes))
}

// Of returns the meter of one vCenter.
func (c *Calls) Of(vcenter string) Meter { return Meter{c, vcenter} }

// Meter counts for one vCenter. It implements session.Meter and govmomi.TaskMeter.
type Meter struct {
	calls   *Calls
	vcenter string
}

// waits is the method that returns when there are updates: its duration says nothing about the vCenter.
const waits = "WaitForUpdatesEx"

// Sent implements session.Meter.
func (m Meter) Sent(method string, code session.Code, took time.Duration) {
	m.calls.requests.WithLabelValues(m.vcenter, method, string(code)).Inc()
	if method == waits || code == session.CodeFenced {
		return
	}
	class := "change"
	if session.ReadOnly(method) {
		class = "read"
	}
	m.calls.answered.WithLabelValues(m.vcenter, class).Observe(took.Seconds())
}

// kinds are the kinds of tasks in metrics. All changes of a VM's settings or place have one kind.
var kinds = map[vsphere.OperationKind]string{
	vsphere.OpClone: "clone", vsphere.OpDestroy: "destroy",
	vsphere.OpPowerOn: "power", vsphere.OpPowerOff: "power", vsphere.OpShutdownGuest: "power",
	vsphere.OpReconfigure: "reconfigure", vsphere.OpMark: "reconfigure", vsphere.OpRelease: "reconfigure", vsphere.OpRestamp: "reconfigure",
	vsphere.OpClaim: "reconfigure", vsphere.OpMove: "reconfigure", vsphere.OpRename: "reconfigure", vsphere.OpAdopt: "reconfigure", vsphere.OpIdentify: "reconfigure",
}

// Took implements govmomi.TaskMeter.
func (m Meter) Took(kind vsphere.OperationKind, d time.Duration) {
	if name, known := kinds[kind]; known {
		m.calls.taskTimes.WithLabelValues(m.vcenter, name).Observe(d.Seconds())
	}
}
