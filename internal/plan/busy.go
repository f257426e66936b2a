package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// busyPause is how long no VM of the group is stopped after vCenter refused a change as busy. A backup or a relocation can lock a VM for hours.
const busyPause = 15 * time.Minute

// mostTransient is the number of consecutive attempts that can fail for a transient reason before a stopped VM is started again.
const mostTransient = 3

// busyOff is true for a VM that was stopped to be changed, and whose change vCenter refuses as busy. The VM is started unchanged, because the duration of the lock is unknown.
func (p *planner) busyOff(m *member) bool {
	if m.vm == nil || m.vm.Power != vsphere.PoweredOff || !m.status.Updating || !p.outdated(m) {
		return false
	}
	if m.status.RefusedAt.After(m.status.StoppedAt) {
		return true
	}
	return m.refusedSince(p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision)) // otherwise the refusal was for a running VM
}

// stopRefused returns the failure of vCenter to stop a VM that must be off to be changed, or nil. In this case the guest did not begin to shut down, and the VM is not powered
// off after the shutdown timeout.
func (p *planner) stopRefused(m *member) *failure {
	if m.vm == nil || m.vm.Power != vsphere.PoweredOn || !m.status.Updating || !p.outdated(m) || m.doomed {
		return nil
	}
	for _, kind := range []vsphere.OperationKind{vsphere.OpShutdownGuest, vsphere.OpPowerOff} {
		if f := p.ops.failure(m.status.Ordinal, kind); !p.ops.running(m.status.Ordinal, kind) && m.refusedSince(f) {
			return f
		}
	}
	return nil
}

// refusedSince is true for a failure that vCenter reported as busy after the operator decided to stop the VM.
func (m *member) refusedSince(f *failure) bool {
	if f == nil || f.At.Before(m.status.StoppedAt) {
		return false
	}
	switch vsphere.KindOf(f.Err) {
	case vsphere.KindBusy:
		return true
	case vsphere.KindTransient:
		return f.Count >= mostTransient
	}
	return false
}

// wasBusy is true for a VM that was stopped in vain less than busyPause ago. Until then, its change is tried while it is on, whatever vCenter answers. vCenter often refuses a
// running VM because it is on before it checks whether the VM is locked.
func (p *planner) wasBusy(m *member) bool {
	at := m.status.RefusedAt
	return !at.IsZero() && p.in.Now.Before(at.Add(busyPause))
}

// seeBusy records refusals as busy, clears them for VMs that got their change, and finds the VM that the others wait for.
func (p *planner) seeBusy() {
	for _, m := range p.table() {
		switch {
		case m.state != present: // a deleted VM still keeps the group from stopping another
		case !p.outdated(m):
			p.roll.Tried = p.roll.Tried || p.gotItsChange(m)
			m.status.StoppedAt, m.status.RefusedAt = time.Time{}, time.Time{}
			continue
		default:
			p.noteRefusal(m)
		}
		if m.status.RefusedAt.After(p.in.Now) { // a clock ran ahead; the group must not wait for it
			m.status.RefusedAt = p.in.Now
		}
		if m.state == present && p.roll.going && !m.doomed && p.change(m) == changeWaits && p.spec.wantOn && p.disabled(m) {
			m.status.Message = explainDisabled(m)
		}
		if !p.wasBusy(m) {
			continue
		}
		p.wake(m.status.RefusedAt.Add(busyPause))
		replaced := p.change(m) == changeReplace // an edit since then
		if m.state == present && !m.doomed && !replaced {
			m.status.Message = p.explainBusy(m)
		}
		if p.roll.going && (p.busyNow == nil || !replaced && p.change(p.busyNow) == changeReplace) {
			p.busyNow = m
		}
	}
}

// keepRefusals records for the group when the change of a VM that leaves or was deleted was refused. The VM's own record in status is removed with it, and the same lock can
// affect other VMs.
func (p *planner) keepRefusals() {
	for _, m := range p.members {
		if at := m.status.RefusedAt; (m.doomed || m.state == gone) && p.outdated(m) && at.After(p.roll.RefusedAt) {
			p.roll.RefusedAt = at
		}
	}
	if p.roll.RefusedAt.After(p.in.Now) { // a clock ran ahead
		p.roll.RefusedAt = p.in.Now
	}
	until := p.roll.RefusedAt.Add(busyPause)
	if !p.in.Now.Before(until) {
		p.roll.RefusedAt = time.Time{}
		return
	}
	p.wake(until)
}

// pausesStops is true while no VM is stopped to be changed, because vCenter refused the change of another VM as busy.
func (p *planner) pausesStops() bool { return p.busyNow != nil || !p.roll.RefusedAt.IsZero() }

// waitsToStop is true while a VM must be stopped to be changed, and waits because of a VM that leaves or has left.
func (p *planner) waitsToStop() bool {
	return !p.roll.RefusedAt.IsZero() && slices.ContainsFunc(p.table(), func(m *member) bool {
		return !m.doomed && (!m.status.Updating || m.unstopped) && p.change(m) == changeRestart
	})
}

// noteRefusal records that a VM was stopped in vain, or could not be stopped, once for each stop.
func (p *planner) noteRefusal(m *member) {
	off := p.busyOff(m)
	if !off && p.stopRefused(m) == nil || m.status.RefusedAt.After(m.status.StoppedAt) {
		return
	}
	m.status.RefusedAt, p.roll.Tried = p.in.Now, false
	if !off {
		m.status.ShutdownTime = time.Time{}
	}
}

// gotItsChange is true for a VM that was stopped for this update and has been changed.
func (p *planner) gotItsChange(m *member) bool {
	return !m.status.StoppedAt.IsZero() && m.status.Revision == p.roll.Revision && m.known != nil && m.known.Revision != p.roll.Revision
}

// othersTry is true while another VM is stopped to find out whether vCenter accepts the change. Several at once could all be stopped in vain before the first refusal. A VM that
// vCenter cannot reach does not count.
func (p *planner) othersTry(m *member) bool {
	return !p.roll.Tried && slices.ContainsFunc(p.table(), func(o *member) bool {
		return o != m && !o.doomed && o.state == present && o.vm.Connected() && !o.vm.IsTemplate && o.status.Updating && (!o.unstopped || o.changes) &&
			!o.spared && p.changesStopped(o)
	})
}

// changesStopped is true for a VM that has been stopped for a change, or is about to be, and has not got the change.
func (p *planner) changesStopped(m *member) bool {
	c := p.change(m)
	return c == changeRestart || c == changeLive && m.vm.Power == vsphere.PoweredOff
}

// disabled is true for a VM that vCenter already reports as impossible to stop or change now. Another VM can be changed instead. A VM that is shutting down does not count,
// because vCenter disables more methods of it then.
func (p *planner) disabled(m *member) bool {
	if m.vm.Disabled == "" || m.vm.Power != vsphere.PoweredOn {
		return false
	}
	asked, _ := p.asked(m)
	return asked.IsZero() && !p.ops.running(m.status.Ordinal, vsphere.OpPowerOff)
}

// waitsForDisabled returns the first VM that is not stopped to be changed because vCenter has disabled the method, or nil.
func (p *planner) waitsForDisabled() *member {
	for _, m := range p.table() {
		if m.state == present && !m.doomed && p.outdated(m) && p.change(m) == changeWaits && p.spec.wantOn && p.disabled(m) {
			return m
		}
	}
	return nil
}

func explainDisabled(m *member) string {
	return fmt.Sprintf("%s is not stopped to be changed, since vCenter has disabled %s for it, as during a backup or a migration. It continues automatically once that is over; "+
		"look in vCenter for what locks the VM", m.status.Name, m.vm.Disabled)
}

// explainBusy explains since when and why a VM that was stopped in vain waits, and what to do.
func (p *planner) explainBusy(m *member) string {
	why := "vCenter said that it is busy"
	if f := p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision); f != nil {
		if kind := vsphere.KindOf(f.Err); kind == vsphere.KindBusy || kind == vsphere.KindTransient {
			why = strings.TrimSuffix(f.message, ".")
		}
	}
	if f := p.stopRefused(m); f != nil {
		why = strings.TrimSuffix(f.message, ".")
	}
	if m.state != present || m.doomed {
		return fmt.Sprintf("%s was refused a change at %s, as %s. No VM is stopped to be changed before %s", m.status.Name, clock(m.status.RefusedAt), why,
			clock(m.status.RefusedAt.Add(busyPause)))
	}
	return fmt.Sprintf("%s has to be off to be changed, and the operator began to stop it at %s. That, or the change, was refused at %s, so that it runs on as it was: %s. No VM is stopped to be changed before %s; look for a backup, a migration or a question "+
		"that locks it in vCenter", m.status.Name, clock(m.status.StoppedAt), clock(m.status.RefusedAt), why, clock(m.status.RefusedAt.Add(busyPause)))
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05 MST") }
