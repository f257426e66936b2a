package plan

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// changeInPlace changes VMs as they are. A new size disturbs nobody. A new network may cut a guest off, so that only a few get it at a time, and
// none while more VMs are missing than may be.
func (p *planner) changeInPlace() {
	missing, changing := p.spec.desired, int32(0)
	for _, m := range p.table() {
		if !m.doomed && m.status.Available {
			missing--
		}
		if p.ops.running(m.status.Ordinal, vsphere.OpReconfigure) {
			changing++
		}
	}
	for _, m := range p.table() {
		if m.doomed || m.state != present || !m.vm.Connected || p.change(m) != changeLive {
			continue
		}
		if p.networkDiffers(m) && m.vm.Power == vsphere.PoweredOn {
			if missing > p.spec.update.unavailable || changing >= max(p.spec.update.unavailable, 1) {
				continue
			}
			changing++
		}
		p.reconfigure(m)
	}
}

func (p *planner) networkDiffers(m *member) bool {
	return InPlace{From: p.roll.shapes[m.status.Revision].Recorded, To: p.roll.shapes[p.roll.Revision].Recorded}.Reconnects()
}

// reconfigure changes what differs, and the revision, in one call. The VM that is seen may have a size of its own by now.
func (p *planner) reconfigure(m *member) {
	own, target := p.roll.shapes[m.status.Revision].Recorded, p.roll.shapes[p.roll.Revision].Recorded
	a := Action{Kind: ReconfigureVM, Revision: target.Revision, Reason: "spec asks for " + sizeOf(target)}
	if m.vm.CPU != target.CPU {
		a.CPU = target.CPU
	}
	if m.vm.MemoryMiB != memoryMiB(target) {
		a.MemoryMiB = memoryMiB(target)
	}
	if network := networkOf(target); networkOf(own) != network {
		a.Network = &network
		if own.CPU == target.CPU && own.Memory == target.Memory {
			a.Reason = "spec asks for another network"
		}
	}
	tried := p.try(m, a)
	m.changes = tried || m.status.Updating // one that was not stopped for that is not kept off by a change that fails
}

// restart stops a VM so that it can be changed. That it is started again whatever happens follows from what status records first.
func (p *planner) restart(m *member) {
	m.changes = true
	m.status.Updating, m.status.Available, m.status.Phase = true, false, v1alpha1.VMStarting
	m.status.Message = "it is restarted to be changed"
	p.stop(m, "it is restarted to get "+sizeOf(p.roll.shapes[p.roll.Revision].Recorded))
}

// updating carries on with what status says of a VM that was stopped for an update, or was about to be. Off, it has yet to be started, and that is no
// repair. On, it is ready again once it is available, unless its guest may still go down.
func (p *planner) updating(m *member) {
	if !m.status.Updating || m.vm.Power != vsphere.PoweredOn {
		return
	}
	asked, _ := p.asked(m)
	switch {
	case !asked.IsZero() && m.vm.ToolsRunning, p.roll.going && p.change(m) == changeRestart:
		m.status.ShutdownTime = asked
		p.wake(p.ops.guests.end(asked).Add(shutdownLapses)) // then it is not going down
		m.status.Available, m.status.Phase = false, v1alpha1.VMStarting
		m.status.Message = fmt.Sprintf("%s is restarted to be changed", m.vm.Ref.Value)
	case m.status.Available:
		m.status.Updating = false
	}
}
