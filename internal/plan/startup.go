package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// failures records which VMs of the update did not become ready in time, and which were stopped to be changed and were refused that. That is decided before
// anything else of the update: at the last one that may fail it stops. A VM that becomes ready after all stays recorded: nobody is to wonder why the update went on.
func (p *planner) failures() {
	if !p.roll.active() || p.in.Deleting || !p.spec.wantOn || !p.in.Observation.Complete {
		return
	}
	for _, m := range p.table() {
		if m.state == present && !m.doomed && (m.status.Revision == p.roll.Revision && p.failedToStart(m) || p.refused(m)) {
			p.roll.fail(m.status.UUID)
		}
	}
}

// failedToStart is true for a VM that says so itself, or has had its time.
func (p *planner) failedToStart(m *member) bool {
	vm := m.vm
	if vm.IsTemplate || !vm.Connected() || vm.Power != vsphere.PoweredOn || m.wasReady || p.waitingFor(m) == "" || p.failedBefore(m) || p.unread(m) {
		return false
	}
	start := m.status.StartTime
	before := !start.IsZero() && start.Before(p.roll.Start) // what it says may be of then
	if g := p.spec.guestInfo; !before && g != nil && g.FailedValue != "" && vm.GuestInfoKnown && vm.GuestInfo == g.FailedValue {
		return true
	}
	return !start.IsZero() && !p.in.Now.Before(p.deadline(m))
}

// failedBefore is true for a VM that had had its time when the update began, and that the update has not changed: spec was set back to what it is. The
// update neither fails by it nor waits for it.
func (p *planner) failedBefore(m *member) bool {
	start := m.status.StartTime
	return m.state == present && m.vm.Connected() && !start.IsZero() && !p.roll.Start.Before(p.startsUntil(m))
}

// deadline is when a VM that has not been ready has had its time. What was before the update is not counted.
func (p *planner) deadline(m *member) time.Time {
	from := m.status.StartTime
	if p.roll.Start.After(from) {
		from = p.roll.Start
	}
	return from.Add(p.spec.startup)
}

// startsAnew is true for a VM that has all its time from now on: it was changed since status told of it, or its host was away, and nobody saw what it did.
func (m *member) startsAnew() bool {
	return !m.vm.Connected() || m.known != nil && m.known.Revision != m.status.Revision
}

// starts keeps since when a VM that is on has not been ready. Once it was, another outage is no start.
func (p *planner) starts(m *member) {
	status := &m.status
	switch {
	case m.vm.Power != vsphere.PoweredOn || m.wasReady:
		status.StartTime = time.Time{}
		return
	case status.StartTime.IsZero() && m.doomed: // its time begins if it stays after all
		return
	case status.StartTime.IsZero():
		status.StartTime = p.in.Now
	}
	switch {
	case !p.roll.active():
	case p.outdated(m):
		p.wake(p.startsUntil(m)) // see needless
	case status.Revision == p.roll.Revision && !p.failedBefore(m):
		p.wake(p.deadline(m))
	}
}

// startsUntil is when a VM has had its time to become ready, whatever the update.
func (p *planner) startsUntil(m *member) time.Time { return m.status.StartTime.Add(p.spec.startup) }
