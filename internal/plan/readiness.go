package plan

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// readiness sets the phase and availability of each VM for status. It decides nothing.
func (p *planner) readiness() {
	for _, ordinal := range p.ordinals {
		m := p.members[ordinal]
		switch m.state {
		case present:
			p.assess(m)
		case suspect:
			// Status has its reference next to the message. Without the reference, the message stays the same and its events form one series.
			p.lost(m, "not found; waiting for vCenter to confirm")
			if !p.in.Observation.Complete {
				m.status.Message = "not seen while the inventory of vCenter is incomplete"
			}
		case elsewhere:
			p.lost(m, p.away(m)+"; ask a hub administrator to move it back or to delete it")
		case gone:
			p.lost(m, "does not exist in vCenter any more")
		case cloning, intended:
			m.status.Phase, m.status.ReadySince = v1alpha1.VMCloning, time.Time{}
			m.status.StartTime, m.status.Updating = time.Time{}, false
			if f := p.ops.cloneFailure(ordinal, m.status.Revision); f != nil && m.state == cloning && !m.doomed {
				p.blockers.addFailure(f) // the current attempt has not succeeded yet
				m.status.Message = f.message
			}
		}
	}
}

// lost marks a VM as not visible. Two kinds of VMs must pass the gate again when they are back: those that were observed not ready before, and those that were not observed to
// pass a new gate. The phase no longer shows this, but a record with both times does.
func (p *planner) lost(m *member, message string) {
	seen := m.known != nil && m.known.Phase != v1alpha1.VMLost
	if !m.status.ReadySince.IsZero() && (seen && m.interrupted() || p.gateChanges) {
		m.status.ReadySince, m.status.StartTime = p.in.Now, p.in.Now
	}
	m.status.Phase, m.status.Power, m.status.Message = v1alpha1.VMLost, vsphere.PowerUnknown, message
}

// assess sets phase, availability and message of an observed VM.
func (p *planner) assess(m *member) {
	vm, status := m.vm, &m.status
	switch {
	case vm.IsTemplate:
		status.Phase = v1alpha1.VMUnhealthy
		status.Message = fmt.Sprintf("%s was converted to a template; ask a hub administrator to convert it back to a virtual machine", vm.Ref.Value)
		p.templates = append(p.templates, m)
	case !vm.Connected():
		status.Phase = v1alpha1.VMUnhealthy
		status.Message = fmt.Sprintf("%s is not reached by vCenter, since %s; ask a hub administrator to %s", vm.Ref.Value, vm.Connection.Problem(), vm.Connection.WayOut())
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

// assessRunning assesses a VM that spec wants on.
func (p *planner) assessRunning(m *member) {
	vm, status := m.vm, &m.status
	if !m.doomed {
		status.ShutdownTime = time.Time{} // the operator no longer waits for a shutdown
	}
	waiting := p.waitingFor(m)
	if waiting == "" {
		status.Phase, status.StartTime = v1alpha1.VMReady, time.Time{}
		// A clock that ran ahead recorded a time in the future. The VM must not wait for it.
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
		status.Message = fmt.Sprintf("%s %s", vm.Ref.Value, waiting) // a new VM is off, which is no problem
	}
	// Only the operator powers a new VM on, and the operator suspends none: these changes came from outside.
	m.wrongPower = vm.Power == vsphere.Suspended || (vm.Power == vsphere.PoweredOff && m.wasReady)
}

// mayGoDown makes a VM unavailable while its guest can still follow a request to shut down. spec wanted the VM off at the request, and wants it on now. Otherwise an update could
// take another VM away meanwhile and leave too few. The update does not take this VM away instead, because its guest possibly stays.
func (p *planner) mayGoDown(m *member) {
	asked, _ := p.asked(m)
	if m.vm.Tombstone || m.status.Updating || asked.IsZero() || p.ops.guests.overdue(asked) {
		return // the update handles the VMs that it stops: see updating
	}
	end := p.ops.guests.end(asked)
	p.wake(end)
	m.mayFollow = m.serves()
	m.status.Available, m.byFormerGate, m.status.ShutdownTime = false, false, asked
	m.status.Message = fmt.Sprintf("its guest was asked to shut down at %s, before the VM was wanted on again, and may follow until %s UTC",
		asked.UTC().Format(time.TimeOnly), end.UTC().Format(time.TimeOnly))
}

// interrupted is true if status records that the VM did not pass its gate although it had been ready. A VM that was only chosen to be restarted, or whose power-off failed, was
// always ready: see goesDown.
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

// forgetReadiness resets ReadySince of a VM that leaves and is not ready, so that it must pass the gate again if it stays. Its phase Deleting does not show readiness.
func (m *member) forgetReadiness() {
	if m.state == present && m.status.Phase != v1alpha1.VMReady && m.status.Phase != v1alpha1.VMDeleting {
		m.status.ReadySince = time.Time{}
	}
}

// unread is true for a VM that passes its whole gate except for the guest's value, which this process has not read yet: after a takeover, or after vCenter was unreachable.
func (p *planner) unread(m *member) bool {
	return p.spec.guestInfo != nil && !m.vm.GuestInfoKnown && p.waitingForGate(m.vm) == ""
}

// waitingFor returns why a connected VM is not ready, or "".
func (p *planner) waitingFor(m *member) string {
	vm := m.vm
	if waiting := p.waitingForGate(vm); waiting != "" {
		return waiting
	}
	g := p.spec.guestInfo
	switch {
	case g == nil || vm.GuestInfoKnown && vm.GuestInfo == g.Value:
	case !vm.GuestInfoKnown && m.wasReady && !m.interrupted(): // unknown is not unhealthy: this process has not read it yet
	default:
		return fmt.Sprintf("has not set %s to %q in its guest (see spec.readiness.guestInfo)", g.Key, g.Value)
	}
	return ""
}

// waitingForGate returns why a connected VM does not pass spec.readiness.gate, or "".
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

// assessStopped assesses a VM that spec wants off. A stopped VM has no ReadySince: when the group is powered on again, that is a start and not a repair.
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

// unhealthy is true for a VM that leaves before healthy ones: wrong power state, unreachable, failed, or not ready any more. A VM that was never started is only not ready.
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
