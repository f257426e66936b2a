package plan

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// changeInPlace changes VMs as they are. A new size disturbs nobody. A new network may cut a guest off, which shows only later: until it is seen in the
// new network, an available VM counts as one that was taken away. One that is not available loses nothing.
func (p *planner) changeInPlace(b *budget) {
	for _, m := range p.table() {
		if m.doomed || m.state != present || !m.vm.Connected() || p.change(m) != changeLive && m != p.deniedNow && m != p.busyNow {
			continue
		}
		if p.busyOff(m) {
			m.changes = false // it is started as it is
			continue
		}
		cuts := p.cutsOff(m) && !p.tooEarly(m) // one that only waits leaves the budget to others
		if cuts && (p.reconnects(m) || !b.lend(p.spec.update.unavailable)) {
			continue
		}
		p.reconfigure(m)
	}
}

// cutsOff is true for a VM that a change may take away, since it gets another network.
func (p *planner) cutsOff(m *member) bool {
	return p.networkDiffers(m) && m.vm.Power == vsphere.PoweredOn && m.serves()
}

// reconnects is true for a VM that is on and about to be in the network of the target.
func (p *planner) reconnects(m *member) bool {
	return m.state == present && m.vm.Power == vsphere.PoweredOn && p.networkDiffers(m) && p.ops.running(m.status.Ordinal, vsphere.OpReconfigure)
}

// reconnected is true for a VM that status has in another network still: it has to show that it is ready in this one, too.
func (p *planner) reconnected(m *member) bool {
	if m.known == nil || m.known.Revision == m.status.Revision {
		return false
	}
	own, target := p.roll.shapes[m.known.Revision], p.roll.shapes[m.status.Revision]
	return own != nil && target != nil && InPlace{From: own.Recorded, To: target.Recorded}.Reconnects()
}

// networkDiffers is true for a VM that the update concerns, and that the target has in another network, as far as that is known.
func (p *planner) networkDiffers(m *member) bool {
	own, target := p.roll.shapes[m.status.Revision], p.roll.shapes[p.roll.Revision]
	return p.outdated(m) && own != nil && target != nil && InPlace{From: own.Recorded, To: target.Recorded}.Reconnects()
}

// reconfigure changes what differs, and the revision, in one call. The VM that is seen may have a size of its own by now. While it is on, it keeps that
// unless spec asks for another: vCenter takes nothing away from a VM that runs, and nobody asked for more.
func (p *planner) reconfigure(m *member) {
	own, target := p.roll.shapes[m.status.Revision].Recorded, p.roll.shapes[p.roll.Revision].Recorded
	a := Action{Kind: ReconfigureVM, Revision: target.Revision, Reason: "spec asks for " + sizeOf(target)}
	sizes := m.vm.Power == vsphere.PoweredOff || InPlace{From: own, To: target}.Resizes()
	if sizes && m.vm.CPU != target.CPU {
		a.CPU = target.CPU
	}
	if sizes && m.vm.MemoryMiB != memoryMiB(target) {
		a.MemoryMiB = memoryMiB(target)
	}
	if network := networkOf(target); networkOf(own) != network {
		a.Network = &network
		if own.CPU == target.CPU && own.Memory == target.Memory {
			a.Reason = "spec asks for another network"
		}
	}
	tried := p.try(m, a)
	f := p.ops.reconfigureFailure(m.status.Ordinal, target.Revision)
	// One that was not stopped for that is not kept off by a change that fails, and none is where a person has to act first.
	m.changes = tried || m.status.Updating && (f == nil || !f.terminal)
}

// restart stops a VM so that it can be changed. That it is started again whatever happens follows from what status records first.
func (p *planner) restart(m *member) {
	if !m.status.Updating || m.status.StoppedAt.IsZero() || !m.status.RefusedAt.IsZero() { // the pause after a refusal is over: this is another try
		m.status.StoppedAt, m.status.RefusedAt = p.in.Now, time.Time{}
	}
	m.changes, m.status.Updating = true, true
	m.goesDown()
	m.status.Message = "it is restarted to be changed"
	p.stop(m, "it is restarted to get "+sizeOf(p.roll.shapes[p.roll.Revision].Recorded))
}

// spareGuests keeps VMs on whose guests were asked to shut down and did not, as many as there are too few others. Since they were asked, others went missing, or an
// edit wants more: to power off or replace a VM that runs takes it away, and that obeys the budget of now. It ends when others are available, or when the request lapses:
// then the VM waits for its turn as one to which nothing was done.
func (p *planner) spareGuests(b budget) {
	lacks := -b.available
	for _, m := range p.table() {
		if m.unstopped {
			lacks-- // it is counted as missing, and is not
		}
	}
	for _, m := range p.table() {
		if m.defies && !m.doomed && lacks > 0 {
			m.spared = p.outdated(m) // any other stays anyway
			lacks--
		}
	}
}

// goesDown marks a VM that is stopped for an update, or is about to be. It keeps the time since when it is ready, since it may have to wait: if others are missing
// by then it is as available as before. One that did not pass its gate has to show itself anew.
func (m *member) goesDown() {
	if m.status.Phase == v1alpha1.VMUnhealthy {
		m.status.ReadySince = time.Time{}
	}
	m.status.Available, m.byFormerGate, m.status.Phase = false, false, v1alpha1.VMStarting
}

// updating carries on with what status says of a VM that was stopped for an update, or was about to be. Off, it has yet to be started, and that is no
// repair. On, it is ready again once it is available, unless its guest may still go down. One to which nothing was done yet waits its turn again: others may be
// missing by now.
func (p *planner) updating(m *member) {
	if !m.status.Updating || m.vm.Power != vsphere.PoweredOn {
		return
	}
	asked, _ := p.asked(m)
	restarts := p.roll.going && p.change(m) == changeRestart
	switch {
	case restarts && asked.IsZero() && m.serves() && !p.ops.busy(m.status.Ordinal):
		m.unstopped = true
	case !asked.IsZero() && m.vm.ToolsRunning, restarts:
		m.defies = m.status.Phase == v1alpha1.VMReady && (asked.IsZero() || p.ops.guests.overdue(asked))
		m.status.ShutdownTime = asked
		if !asked.IsZero() && m.known != nil {
			m.status.ReadySince = m.known.ReadySince // until it is off: it is ready anew once it turns out to stay on, and not in each look
		}
		p.wake(p.ops.guests.end(asked).Add(shutdownLapses)) // then it is not going down
		m.goesDown()
		m.status.Message = fmt.Sprintf("%s is restarted to be changed", m.vm.Ref.Value)
	case m.status.Available && !p.ops.busy(m.status.Ordinal): // else it may be going down
		m.status.Updating = false
	}
}
