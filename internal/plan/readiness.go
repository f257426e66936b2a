package plan

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// readiness gives each status the phase that status shows, and says which VMs are available. It decides nothing.
func (p *planner) readiness() {
	for _, ordinal := range p.ordinals {
		m := p.members[ordinal]
		switch m.state {
		case present:
			p.assess(m)
		case suspect:
			// Its reference is beside it in status. Without it the message is the same each time, and its events are one series.
			p.lost(m, "not found; waiting for vCenter to confirm")
			if !p.in.Observation.Complete {
				m.status.Message = "not seen while the inventory of vCenter is incomplete"
			}
		case elsewhere:
			p.lost(m, p.away(m)+"; ask the platform team to move it back or to delete it")
		case gone:
			p.lost(m, "does not exist in vCenter any more")
		case cloning, intended:
			m.status.Phase, m.status.ReadySince = v1alpha1.VMCloning, time.Time{}
			m.status.StartTime, m.status.Updating = time.Time{}, false
			if f := p.ops.cloneFailure(ordinal, m.status.Revision); f != nil && m.state == cloning && !m.doomed {
				p.blockers.addFailure(f) // the attempt that runs has not done better yet
				m.status.Message = f.message
			}
		}
	}
}

// lost says that a VM is out of sight. One that was seen not to be ready before, and one that nobody has seen pass a new gate, has to show itself anew when it is
// back. Its phase does not tell that any more; that it has both times does.
func (p *planner) lost(m *member, message string) {
	seen := m.known != nil && m.known.Phase != v1alpha1.VMLost
	if !m.status.ReadySince.IsZero() && (seen && m.interrupted() || p.gateChanges) {
		m.status.ReadySince, m.status.StartTime = p.in.Now, p.in.Now
	}
	m.status.Phase, m.status.Power, m.status.Message = v1alpha1.VMLost, vsphere.PowerUnknown, message
}

// assess sets phase, availability and message of a VM that is observed.
func (p *planner) assess(m *member) {
	vm, status := m.vm, &m.status
	switch {
	case vm.IsTemplate:
		status.Phase = v1alpha1.VMUnhealthy
		status.Message = fmt.Sprintf("%s was converted to a template; ask the platform team to convert it back to a virtual machine", vm.Ref.Value)
		p.templates = append(p.templates, m)
	case !vm.Connected():
		status.Phase = v1alpha1.VMUnhealthy
		status.Message = fmt.Sprintf("%s is not reached by vCenter, since %s; ask the platform team to %s", vm.Ref.Value, vm.Connection.Problem(), vm.Connection.WayOut())
	case p.spec.wantOn:
		p.assessRunning(m)
		p.updating(m)
	default:
		p.assessStopped(m)
	}
	if m.doomed {
		m.forgetReadiness()
	}
	if status.Message == "" && vm.Name != status.Name {
		status.Message = fmt.Sprintf("%s was renamed to %s; it is still the group's", vm.Ref.Value, untrusted.Quoted(vm.Name))
	}
}

// assessRunning assesses a VM that shall be powered on.
func (p *planner) assessRunning(m *member) {
	vm, status := m.vm, &m.status
	if !m.doomed {
		status.ShutdownTime = time.Time{} // nobody waits for that any more
	}
	waiting := p.waitingFor(m)
	if waiting == "" {
		status.Phase, status.StartTime = v1alpha1.VMReady, time.Time{}
		// A time that is yet to come was recorded by a clock that ran ahead. Nobody is to wait for that.
		if status.ReadySince.IsZero() || status.ReadySince.After(p.in.Now) || m.interrupted() || p.reconnected(m) {
			status.ReadySince = p.in.Now
		}
		p.counts(m)
		p.mayGoDown(m)
		return
	}
	p.starts(m)
	status.Phase = v1alpha1.VMStarting
	if m.wasReady || vm.Power == vsphere.Suspended {
		status.Phase = v1alpha1.VMUnhealthy
	}
	if status.Phase == v1alpha1.VMUnhealthy || vm.Power != vsphere.PoweredOff {
		status.Message = fmt.Sprintf("%s %s", vm.Ref.Value, waiting) // a new VM is off, and nothing is wrong with that
	}
	// Nobody but the operator powers a new VM on, and the operator suspends none: these came from outside.
	m.wrongPower = vm.Power == vsphere.Suspended || (vm.Power == vsphere.PoweredOff && m.wasReady)
}

// mayGoDown has a VM not count as available while its guest has time to follow a request to shut down: spec wanted it off then, and wants it on now. An update
// that took another away meanwhile would leave too few.
func (p *planner) mayGoDown(m *member) {
	asked, _ := p.asked(m)
	if m.vm.Tombstone || m.status.Updating || asked.IsZero() || p.ops.guests.overdue(asked) {
		return // an update sees to those that it stops: see updating
	}
	end := p.ops.guests.end(asked)
	p.wake(end)
	m.status.Available, m.byFormerGate, m.status.ShutdownTime = false, false, asked
	m.status.Message = fmt.Sprintf("its guest was asked to shut down at %s, before the VM was wanted on again, and may follow until %s UTC",
		asked.UTC().Format(time.TimeOnly), end.UTC().Format(time.TimeOnly))
}

// interrupted is true when status says that the VM did not pass its gate although it had been ready. A VM that was only chosen to be restarted, or whose power-off
// failed, was ready all the time: see goesDown.
func (m *member) interrupted() bool {
	if m.known == nil {
		return false
	}
	restarts := m.known.Phase == v1alpha1.VMStarting || m.known.Phase == v1alpha1.VMFailed
	if m.known.Updating && restarts && m.known.ShutdownTime.IsZero() {
		return false
	}
	switch m.known.Phase {
	case v1alpha1.VMUnhealthy, v1alpha1.VMStarting, v1alpha1.VMStopped, v1alpha1.VMFailed:
		return true
	case v1alpha1.VMLost: // see lost
		return !m.known.ReadySince.IsZero() && !m.known.StartTime.IsZero()
	default:
		return false
	}
}

// forgetReadiness has a VM that leaves, and is seen not to be ready, be ready anew if it stays after all: its phase tells no more than that it leaves.
func (m *member) forgetReadiness() {
	if m.state == present && m.status.Phase != v1alpha1.VMReady && m.status.Phase != v1alpha1.VMDeleting {
		m.status.ReadySince = time.Time{}
	}
}

// unread is true for a VM that passes all of its gate but what its guest has written, which nobody has read yet: after a takeover, or after vCenter was away.
func (p *planner) unread(m *member) bool {
	return p.spec.guestInfo != nil && !m.vm.GuestInfoKnown && p.waitingForGate(m.vm) == ""
}

// waitingFor says what keeps a connected VM from being ready, or nothing.
func (p *planner) waitingFor(m *member) string {
	vm := m.vm
	if waiting := p.waitingForGate(vm); waiting != "" {
		return waiting
	}
	g := p.spec.guestInfo
	switch {
	case g == nil || vm.GuestInfoKnown && vm.GuestInfo == g.Value:
	case !vm.GuestInfoKnown && m.wasReady && !m.interrupted(): // unknown is not sick: who looks now has not read it yet
	default:
		return fmt.Sprintf("has not set %s to %q in its guest (see spec.readiness.guestInfo)", g.Key, g.Value)
	}
	return ""
}

// waitingForGate says what keeps a connected VM from passing spec.readiness.gate, or nothing.
func (p *planner) waitingForGate(vm *vsphere.VM) string {
	switch vm.Power {
	case vsphere.PoweredOn:
	case vsphere.PoweredOff:
		return "is powered off"
	case vsphere.Suspended:
		return "is suspended"
	default:
		return "has a power state that vCenter does not report"
	}
	switch {
	case p.spec.gate == v1alpha1.GateGuestHeartbeat && !vm.HeartbeatGreen:
		return "has no green heartbeat from VMware Tools"
	case p.spec.gate == v1alpha1.GateGuestIP && vm.GuestIP == "":
		return "has no IP address reported by VMware Tools"
	}
	return ""
}

// assessStopped assesses a VM that shall be powered off. A stopped VM has no ReadySince: when the group is
// powered on again, that is a start and not a repair.
func (p *planner) assessStopped(m *member) {
	vm, status := m.vm, &m.status
	status.StartTime, status.Updating = time.Time{}, false
	if vm.Power == vsphere.PoweredOff {
		status.Phase, status.Available, status.ReadySince = v1alpha1.VMStopped, true, time.Time{}
		return
	}
	status.Phase = v1alpha1.VMUnhealthy
	switch vm.Power {
	case vsphere.PoweredOn:
		status.Message = fmt.Sprintf("%s is powered on although spec.powerState is PoweredOff", vm.Ref.Value)
	case vsphere.Suspended:
		status.Message = fmt.Sprintf("%s is suspended although spec.powerState is PoweredOff", vm.Ref.Value)
	default:
		status.Message = fmt.Sprintf("%s has a power state that vCenter does not report", vm.Ref.Value)
	}
}

// unhealthy is true for a VM that leaves before healthy ones: wrong power state, unreachable, failed, or not ready any more. One that was not
// started yet is not ready, and no more than that.
func (p *planner) unhealthy(m *member) bool {
	switch m.state {
	case present:
		want := vsphere.PoweredOff
		if p.spec.wantOn {
			want = vsphere.PoweredOn
		}
		return !m.vm.Connected() || m.vm.Power != want && (m.wasReady || m.vm.Power != vsphere.PoweredOff) || m.status.Phase == v1alpha1.VMUnhealthy
	case cloning:
		return p.ops.cloneFailure(m.status.Ordinal, m.status.Revision) != nil
	default:
		return false
	}
}
