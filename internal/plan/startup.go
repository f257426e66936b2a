package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// failures records the VMs of the update that did not become ready in time, and those that vCenter refused to change after they were stopped. This pass runs before all other
// decisions of the update, which stops at maxFailures. A VM that becomes ready later stays recorded: the record explains why the update stopped.
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

// failedToStart is true for a VM that published the failure value, or whose time ended.
func (p *planner) failedToStart(m *member) bool {
	vm := m.vm
	if vm.IsTemplate || !vm.Connected() || vm.Power != vsphere.PoweredOn || m.wasReady || p.waitingFor(m) == "" || p.failedBefore(m) || p.unread(m) {
		return false
	}
	start := m.status.StartTime
	before := !start.IsZero() && start.Before(p.roll.Start) // its value can be from before the update
	if g := p.spec.guestInfo; !before && g != nil && g.FailedValue != "" && vm.GuestInfoKnown && vm.GuestInfo == g.FailedValue {
		return true
	}
	return !start.IsZero() && !p.in.Now.Before(p.deadline(m))
}

// failedBefore is true for a VM whose time ended before the update began, and that the update has not changed: spec returned to its revision. The update neither fails because of
// this VM nor waits for it.
func (p *planner) failedBefore(m *member) bool {
	start := m.status.StartTime
	return m.state == present && m.vm.Connected() && !start.IsZero() && !p.roll.Start.Before(p.startsUntil(m))
}

// deadline is when the time of a VM ends that has not been ready. The time before the update does not count.
func (p *planner) deadline(m *member) time.Time {
	from := m.status.StartTime
	if p.roll.Start.After(from) {
		from = p.roll.Start
	}
	return from.Add(p.spec.startup)
}

// startsAnew is true for a VM whose startup time begins now. The VM was changed since its record, or its host was unreachable and the VM was not observed.
func (m *member) startsAnew() bool {
	return !m.vm.Connected() || m.known != nil && m.known.Revision != m.status.Revision
}

// starts records since when a running VM has not been ready. After it was ready once, another outage is no start.
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

// startsUntil is when the startup time of a VM ends, independent of the update.
func (p *planner) startsUntil(m *member) time.Time { return m.status.StartTime.Add(p.spec.startup) }
