package plan

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// repair decides whether VMs that were lost or powered off from outside are replaced or powered on, and keeps the ordinals of the others. Their number depends on the wanted
// number: a group that shrinks does not miss a VM that it would have deleted. The first clone and the first start of a VM are no repairs.
func (p *planner) repair() {
	if p.in.Deleting {
		return
	}
	room := p.wanted() - p.population()
	var lost, held []*member
	unhealthy := int32(0)
	for _, m := range p.table() {
		switch {
		case m.doomed:
		case m.missing() && p.ops.busy(m.status.Ordinal):
			// An operation for a deleted VM is still in flight: wait for its end, and do not replace the VM meanwhile.
			if room > 0 {
				m.kept = true
				room--
			}
		case m.missing():
			if m.state == gone || p.replacement(m) {
				lost = append(lost, m)
			}
		case m.state == cloning && p.replacement(m):
			p.plan.Repairing = true
			unhealthy++
		default:
			if m.wrongPower {
				unhealthy++
			}
		}
	}
	lost = lost[:min(len(lost), int(max(room, 0)))]
	unhealthy += int32(len(lost))
	if limit := p.spec.maxUnhealthy; limit != nil && unhealthy > scaled(*limit, p.spec.desired, false) {
		p.repairHeld = true
		p.blockers.add(rankHeld, Blocker{
			Reason: v1alpha1.ReasonRepairHeld,
			Message: fmt.Sprintf("%d of %d VMs need repair, more than spec.repair.maxUnhealthy allows (%s), so none is "+
				"repaired. Ask a hub administrator for a common cause, such as a host or a datastore. To repair them all, raise maxUnhealthy.",
				unhealthy, p.spec.desired, unhealthyText(*limit, p.spec.desired)),
			Terminal: true,
		})
	}
	for _, m := range lost {
		if p.repairHeld || (p.spec.observe && m.state == gone) {
			m.kept = true
			held = append(held, m)
		}
	}
	p.explainHeld(held)
}

// explainHeld reports lost VMs that are not replaced.
func (p *planner) explainHeld(held []*member) {
	why := "spec.repair.mode is Observe"
	if p.repairHeld {
		why = "more VMs need repair than spec.repair.maxUnhealthy allows"
	}
	for _, m := range held {
		m.status.Phase, m.status.Power = v1alpha1.VMLost, vsphere.PowerUnknown
		m.status.Message = "the VM does not exist in vCenter any more and is not replaced: " + why
	}
	if len(held) > 0 && !p.repairHeld {
		p.blockers.add(rankObserved, Blocker{
			Reason: v1alpha1.ReasonRepairHeld,
			Brief:  about(held, "is", "are") + " gone from vCenter, and spec.repair.mode is Observe",
			Message: fmt.Sprintf("Gone from vCenter and not replaced, because spec.repair.mode is Observe: %s. "+
				"Set the mode to Enforce to replace missing VMs, or lower spec.replicas.", enumerate(labels(held))),
		})
	}
}

// howToReplace explains how a person gets VMs replaced. A VM that is deleted in vCenter is lost, and with mode Observe it is not replaced. A name in deleteFirst alone does
// nothing: it only orders the VMs that leave once fewer are wanted.
func (p *planner) howToReplace() string {
	const shrink = "name them in spec.scaleDown.deleteFirst, lower spec.replicas by as many, and raise it again when they are deleted"
	if p.spec.observe {
		return "to have the others replaced, " + shrink + " (do not delete them in vCenter: with spec.repair.mode Observe they are not cloned anew)"
	}
	return "to have the others replaced, delete them in vCenter; or " + shrink
}

// suspects returns the number of VMs that are counted although they possibly no longer exist.
func (p *planner) suspects() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && m.state == suspect {
			n++
		}
	}
	return n
}

// population returns the number of VMs that exist or are being cloned, and do not leave.
func (p *planner) population() int32 {
	n := int32(0)
	for _, m := range p.table() {
		if !m.doomed && (m.exists() || m.state == cloning) {
			n++
		}
	}
	return n
}
