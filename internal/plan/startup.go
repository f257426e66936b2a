package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// failures records which VMs of the update did not become ready in time. That is decided before anything else of the update: at the last one that
// may fail it stops. A VM that becomes ready after all stays recorded: nobody is to wonder why the update went on.
func (p *planner) failures() {
	if !p.roll.active() || p.in.Deleting || !p.spec.wantOn || !p.in.Observation.Complete {
		return
	}
	for _, m := range p.table() {
		if m.state == present && !m.doomed && m.status.Revision == p.roll.Revision && p.failedToStart(m) {
			p.roll.fail(m.status.UUID)
		}
	}
}

// failedToStart is true for a VM that says so itself, or has had its time.
func (p *planner) failedToStart(m *member) bool {
	vm := m.vm
	if vm.IsTemplate || !vm.Connected || vm.Power != vsphere.PoweredOn || m.wasReady || p.waitingFor(m) == "" {
		return false
	}
	if g := p.spec.guestInfo; g != nil && g.FailedValue != "" && vm.GuestInfoKnown && vm.GuestInfo == g.FailedValue {
		return true
	}
	at := m.status.StartTime
	return !at.IsZero() && !at.After(p.in.Now) && !p.in.Now.Before(at.Add(p.spec.startup))
}

// starts keeps since when a VM that is on has not been ready. Once it was, another outage is no start.
func (p *planner) starts(m *member) {
	status := &m.status
	switch {
	case m.vm.Power != vsphere.PoweredOn || m.wasReady:
		status.StartTime = time.Time{}
		return
	case status.StartTime.IsZero() || status.StartTime.After(p.in.Now):
		status.StartTime = p.in.Now
	}
	if p.roll.active() && status.Revision == p.roll.Revision {
		p.wake(status.StartTime.Add(p.spec.startup))
	}
}
