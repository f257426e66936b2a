package plan

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// changeInPlace changes VMs in their current power state. A new size disturbs no guest. A new network can disconnect a guest, which shows only later. Until an available VM is
// observed in the new network, it counts as taken away. A VM that is not available has nothing to lose.
func (p *planner) changeInPlace(b *budget) {
	for _, m := range p.table() {
		if m.doomed || m.state != present || !m.vm.Connected() {
			continue
		}
		if c := p.change(m); c != changeLive && m != p.deniedNow && (m != p.busyNow || c != changeBusy) {
			continue
		}
		if p.busyOff(m) {
			m.changes = false // the VM is started unchanged
			continue
		}
		cuts := p.cutsOff(m) && !p.tooEarly(m) // a VM that only waits leaves the budget to others
		if cuts && (p.reconnects(m) || !b.lend(p.spec.update.unavailable)) {
			continue
		}
		if m.defies && p.networkDiffers(m) && b.available < 0 {
			continue // its guest still runs, and too few others are available
		}
		p.reconfigure(m)
	}
}

// cutsOff is true for a VM that a change can disconnect, because it gets another network.
func (p *planner) cutsOff(m *member) bool {
	return p.networkDiffers(m) && m.vm.Power == vsphere.PoweredOn && m.serves()
}

// reconnects is true for a running VM whose change to the target's network is in flight.
func (p *planner) reconnects(m *member) bool {
	return m.state == present && m.vm.Power == vsphere.PoweredOn && p.networkDiffers(m) && p.ops.running(m.status.Ordinal, vsphere.OpReconfigure)
}

// reconnected is true for a VM that status still records in another network: it must become ready in the new network, too.
func (p *planner) reconnected(m *member) bool {
	if m.known == nil || m.known.Revision == m.status.Revision {
		return false
	}
	c, known := p.between(m.known.Revision, m.status.Revision)
	return known && c.Reconnects()
}

// networkDiffers is true for a VM that the update concerns, if the target has another network, as far as is known.
func (p *planner) networkDiffers(m *member) bool {
	c, known := p.inPlace(m)
	return p.outdated(m) && known && c.Reconnects()
}

// reconfigure changes all differences and the revision in one call. The VM's own size can differ from its recorded shape. While the VM is on, it keeps that size unless spec asks
// for another. vCenter takes nothing away from a running VM, and no edit asked for more.
func (p *planner) reconfigure(m *member) {
	change, _ := p.inPlace(m)
	target := change.To
	a := Action{Kind: ReconfigureVM, Revision: target.Revision, Reason: "spec asks for " + sizeOf(target)}
	sizes := m.vm.Power == vsphere.PoweredOff || change.sizes(m.vm)
	if sizes && m.vm.CPU != target.CPU {
		a.CPU = target.CPU
	}
	if sizes {
		a.CoresPerSocket = change.Cores(m.vm)
	}
	if sizes && m.vm.MemoryMiB != memoryMiB(target) {
		a.MemoryMiB = memoryMiB(target)
	}
	if change.GrowsRoot() {
		a.RootDiskGiB = target.RootDiskGiB()
	}
	a.DataDisks = change.dataDisks()
	if change.Reconnects() {
		a.Network = new(networkOf(target))
		if !change.Resizes() && !change.ChangesDisks() {
			a.Reason = "spec asks for another network"
		}
	}
	tried := p.try(m, a)
	f := p.ops.reconfigureFailure(m.status.Ordinal, target.Revision)
	// A failed change does not keep a VM off that was not stopped for it. If a person must act first, no VM is kept off.
	m.changes = tried || m.status.Updating && (f == nil || !f.terminal && !p.stoppedForADisk(m, f))
}

// restart stops a VM to change it. The record in status ensures that it is started again in any case.
func (p *planner) restart(m *member) {
	if !m.status.Updating || m.status.StoppedAt.IsZero() || !m.status.RefusedAt.IsZero() { // the pause after a refusal has ended: this is another try
		m.status.StoppedAt, m.status.RefusedAt = p.in.Now, time.Time{}
	}
	m.changes, m.status.Updating = true, true
	m.goesDown()
	m.status.Message = "it is restarted to be changed"
	p.stop(m, "it is restarted to get "+sizeOf(p.roll.shapes[p.roll.Revision].Recorded))
}

// spareGuests keeps VMs on whose guests were asked to shut down and did not, as many as available VMs are missing. Since the request, other VMs were lost or an edit wants more.
// To power off or replace a running VM takes it away, and that obeys the current budget. The VM is spared until others are available, or until the request lapses: then it waits
// for its turn like a VM that was not stopped.
func (p *planner) spareGuests(b budget) {
	lacks := -b.available
	for _, m := range p.table() {
		if m.unstopped {
			lacks-- // it is counted as missing but is not
		}
	}
	for _, m := range p.table() {
		if m.defies && !m.doomed && lacks > 0 {
			m.spared = p.outdated(m) // any other stays anyway
			lacks--
		}
	}
}

// goesDown marks a VM that is stopped for an update, or is about to be. The VM keeps ReadySince, because it can have to wait: if others are missing by then, it is as available
// as before. A VM that did not pass its gate must pass it again.
func (m *member) goesDown() {
	if m.status.Phase == v1alpha1.VMUnhealthy {
		m.status.ReadySince = time.Time{}
	}
	m.status.Available, m.byFormerGate, m.status.Phase = false, false, v1alpha1.VMStarting
}

// updating continues with a VM that status records as stopped for an update, or about to be. If the VM is off, it must still be started, which is no repair. If it is on, its
// update ends once it is available, unless its guest can still shut down. A VM whose stop has not begun waits its turn again, because others can be missing.
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
			m.status.ReadySince = m.known.ReadySince // until the VM is off: it becomes ready anew once if it stays on, and not in each run
		}
		p.wake(p.ops.guests.end(asked).Add(shutdownLapses)) // then the VM is not shutting down
		m.goesDown()
		m.status.Message = fmt.Sprintf("%s is restarted to be changed", m.vm.Ref.Value)
	case m.status.Available && !p.ops.busy(m.status.Ordinal): // otherwise it can be shutting down
		m.status.Updating = false
	}
}
