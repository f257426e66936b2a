package plan

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// readiness gives each slot the phase that status shows, and says which VMs are available. It decides nothing.
func (p *planner) readiness() {
	for _, ordinal := range p.ordinals {
		m := p.members[ordinal]
		switch m.state {
		case present:
			p.judge(m)
		case suspect:
			p.lost(m, fmt.Sprintf("%s was not found; waiting for vCenter to confirm", m.slot.MoRef))
			if !p.in.Observation.Complete {
				m.slot.Message = fmt.Sprintf("%s is not seen while the inventory of vCenter is incomplete", m.slot.MoRef)
			}
		case elsewhere:
			p.lost(m, fmt.Sprintf("%s was moved out of the operator's root folder: move it back or delete it",
				m.slot.MoRef))
		case gone:
			p.lost(m, fmt.Sprintf("%s does not exist in vCenter any more", m.slot.MoRef))
		case cloning, intended:
			m.slot.Phase, m.slot.ReadySince = v1alpha1.VMCloning, time.Time{}
			if f := p.ops.failure(ordinal, vsphere.OpClone); f != nil && m.state == cloning && !m.doomed {
				p.blockers.addFailure(f) // the attempt that runs has not done better yet
				m.slot.Message = f.message
			}
		}
	}
}

func (p *planner) lost(m *member, message string) {
	m.slot.Phase, m.slot.Power, m.slot.Message = v1alpha1.VMLost, vsphere.PowerUnknown, message
}

// judge sets phase, availability and message of a VM that is observed.
func (p *planner) judge(m *member) {
	vm, slot := m.vm, &m.slot
	switch {
	case !vm.Connected:
		slot.Phase = v1alpha1.VMUnhealthy
		slot.Message = fmt.Sprintf("%s is on a host that is disconnected, or its files cannot be reached: "+
			"bring the host or its storage back", vm.Ref.Value)
	case p.spec.wantOn:
		p.judgeRunning(m)
	default:
		p.judgeStopped(m)
	}
	if slot.Message == "" && vm.Name != slot.Name {
		slot.Message = fmt.Sprintf("%s was renamed to %q; it is still the group's", vm.Ref.Value, vm.Name)
	}
}

// judgeRunning judges a VM that shall be powered on.
func (p *planner) judgeRunning(m *member) {
	vm, slot := m.vm, &m.slot
	waiting := p.waitingFor(vm)
	if waiting == "" {
		slot.Phase = v1alpha1.VMReady
		// A time that is yet to come was recorded by a clock that ran ahead. Nobody is to wait for that.
		if slot.ReadySince.IsZero() || slot.ReadySince.After(p.in.Now) || m.interrupted() {
			slot.ReadySince = p.in.Now
		}
		availableAt := slot.ReadySince.Add(p.spec.minReady)
		slot.Available = !availableAt.After(p.in.Now)
		p.wake(availableAt)
		return
	}
	slot.Phase = v1alpha1.VMStarting
	if m.wasReady || vm.Power == vsphere.Suspended {
		slot.Phase = v1alpha1.VMUnhealthy
	}
	if slot.Phase == v1alpha1.VMUnhealthy || vm.Power != vsphere.PoweredOff {
		slot.Message = fmt.Sprintf("%s %s", vm.Ref.Value, waiting) // a new VM is off, and nothing is wrong with that
	}
	// Nobody but the operator powers a new VM on, and the operator suspends none: these came from outside.
	m.wrongPower = vm.Power == vsphere.Suspended || (vm.Power == vsphere.PoweredOff && m.wasReady)
}

// interrupted is true when status says that the VM did not pass its gate although it had been ready.
func (m *member) interrupted() bool {
	if m.known == nil {
		return false
	}
	switch m.known.Phase {
	case v1alpha1.VMUnhealthy, v1alpha1.VMStarting, v1alpha1.VMStopped, v1alpha1.VMFailed:
		return true
	default:
		return false
	}
}

// waitingFor says what keeps a connected VM from passing the readiness gate, or nothing.
func (p *planner) waitingFor(vm *vsphere.VM) string {
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

// judgeStopped judges a VM that shall be powered off. A stopped VM has no ReadySince: when the group is
// powered on again, that is a start and not a repair.
func (p *planner) judgeStopped(m *member) {
	vm, slot := m.vm, &m.slot
	if vm.Power == vsphere.PoweredOff {
		slot.Phase, slot.Available, slot.ReadySince = v1alpha1.VMStopped, true, time.Time{}
		return
	}
	slot.Phase = v1alpha1.VMUnhealthy
	switch vm.Power {
	case vsphere.PoweredOn:
		slot.Message = fmt.Sprintf("%s is powered on although spec.powerState is Off", vm.Ref.Value)
	case vsphere.Suspended:
		slot.Message = fmt.Sprintf("%s is suspended although spec.powerState is Off", vm.Ref.Value)
	default:
		slot.Message = fmt.Sprintf("%s has a power state that vCenter does not report", vm.Ref.Value)
	}
}

// unhealthy is true for a VM that leaves before healthy ones: wrong power state, unreachable, or failed.
func (p *planner) unhealthy(m *member) bool {
	switch m.state {
	case present:
		want := vsphere.PoweredOff
		if p.spec.wantOn {
			want = vsphere.PoweredOn
		}
		return !m.vm.Connected || m.vm.Power != want
	case cloning:
		return p.ops.failure(m.slot.Ordinal, vsphere.OpClone) != nil
	default:
		return false
	}
}
