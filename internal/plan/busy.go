package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// busyPause is how long a VM whose change vCenter refused as busy is not stopped again, and no other of the group. A backup or a relocation may lock it for hours.
const busyPause = 15 * time.Minute

// mostTransient is how many attempts in a row may fail for a passing reason before a VM that is off for them is started again.
const mostTransient = 3

// busyOff is true for a VM that was stopped to be changed, and of which vCenter says that it takes no change now. It is started as it is: nobody knows how long that
// lasts.
func (p *planner) busyOff(m *member) bool {
	if m.vm == nil || m.vm.Power != vsphere.PoweredOff || !m.status.Updating || !p.outdated(m) {
		return false
	}
	if m.status.RefusedAt.After(m.status.StoppedAt) {
		return true
	}
	f := p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision)
	if f == nil || f.At.Before(m.status.StoppedAt) { // what was refused before, on a VM that ran
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

// wasBusy is true for a VM that was stopped in vain a short while ago. Until that is over its change is tried while it is on, whatever vCenter answers: a VM that
// runs is often refused for being on before anybody looks whether it is locked.
func (p *planner) wasBusy(m *member) bool {
	at := m.status.RefusedAt
	return !at.IsZero() && p.in.Now.Before(at.Add(busyPause))
}

// seeBusy records what vCenter refused as busy, forgets it of VMs that have their change, and finds the VM that others wait for.
func (p *planner) seeBusy() {
	for _, m := range p.table() {
		switch {
		case m.state != present:
			continue
		case !p.outdated(m):
			p.roll.Tried = p.roll.Tried || p.gotItsChange(m)
			m.status.StoppedAt, m.status.RefusedAt = time.Time{}, time.Time{}
			continue
		case p.busyOff(m) && !m.status.RefusedAt.After(m.status.StoppedAt):
			m.status.RefusedAt, p.roll.Tried = p.in.Now, false
		}
		if m.status.RefusedAt.After(p.in.Now) { // a clock ran ahead; nobody is to wait for that
			m.status.RefusedAt = p.in.Now
		}
		if !p.wasBusy(m) || m.doomed {
			continue
		}
		p.wake(m.status.RefusedAt.Add(busyPause))
		m.status.Message = p.explainBusy(m)
		if p.busyNow == nil && p.roll.going {
			p.busyNow = m
		}
	}
}

// gotItsChange is true for a VM that was stopped for this update, and that turns out to have been changed.
func (p *planner) gotItsChange(m *member) bool {
	return !m.status.StoppedAt.IsZero() && m.status.Revision == p.roll.Revision && m.known != nil && m.known.Revision != p.roll.Revision
}

// othersTry is true while another VM is stopped to find out whether vCenter takes the change at all. Several at once could all be stopped in vain before the first
// refusal is known. One that vCenter does not reach finds out nothing.
func (p *planner) othersTry(m *member) bool {
	return !p.roll.Tried && slices.ContainsFunc(p.table(), func(o *member) bool {
		return o != m && !o.doomed && o.state == present && o.vm.Connected() && !o.vm.IsTemplate && o.status.Updating && (!o.unstopped || o.changes) &&
			p.changesStopped(o)
	})
}

// changesStopped is true for a VM that has been stopped for a change, or is about to be, and has not got it.
func (p *planner) changesStopped(m *member) bool {
	c := p.change(m)
	return c == changeRestart || c == changeLive && m.vm.Power == vsphere.PoweredOff
}

// explainBusy says that a VM was stopped for a change in vain, since when, why it waits, and what to do.
func (p *planner) explainBusy(m *member) string {
	why := "vCenter said that it is busy"
	if f := p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision); f != nil {
		if kind := vsphere.KindOf(f.Err); kind == vsphere.KindBusy || kind == vsphere.KindTransient {
			why = strings.TrimSuffix(f.message, ".")
		}
	}
	return fmt.Sprintf("%s was stopped at %s to be changed, which was refused at %s, and is started again as it was: %s. No VM is stopped to be changed before %s; look for a backup, a migration or a question "+
		"that locks it in vCenter", m.status.Name, clock(m.status.StoppedAt), clock(m.status.RefusedAt), why, clock(m.status.RefusedAt.Add(busyPause)))
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05 MST") }
