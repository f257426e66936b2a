package plan

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// replicas brings the number of VMs to what is wanted: new ones at the lowest free ordinals, or the scale-down
// order chooses who leaves. Clones in flight count as VMs. Of what is gone or was only intended, nothing stays
// in the table that is not created here or kept by repair.
func (p *planner) replicas() {
	if p.in.Deleting {
		return
	}
	have := p.population()
	switch surplus := have - p.spec.desired; {
	case p.spec.keep:
	case surplus > 0:
		p.scaleDown(int(surplus))
	case surplus < 0:
		p.fill(have)
	}
	for _, m := range p.table() {
		if m.missing() && !m.kept {
			m.dropped = true
		}
	}
}

// fill creates what is missing.
func (p *planner) fill(have int32) {
	room := p.spec.desired - have
	for _, m := range p.table() {
		if m.missing() && m.kept {
			room--
		}
	}
	blocked := p.spec.noCreate || p.in.CreateBlocked != nil
	reason := fmt.Sprintf("the group wants %s and has %d", vms(int(p.spec.desired)), have)
	for ordinal := int32(0); room > 0; ordinal++ {
		if p.occupied(ordinal) {
			continue
		}
		room--
		p.createsWanted++
		m := p.member(ordinal)
		if m != nil && (m.state == gone || p.replacement(m)) {
			p.plan.Repairing = true
		}
		switch {
		case !blocked:
			p.create(ordinal, m, reason)
		case m != nil:
			m.kept = true // remember the incarnation until the clone may be made
			m.slot.Message = "the VM cannot be cloned now: see the group's message"
		}
	}
	slices.Sort(p.ordinals)
}

// occupied is true for an ordinal that gets no new VM.
func (p *planner) occupied(ordinal int32) bool {
	if m := p.member(ordinal); m != nil && (!m.missing() || m.kept) {
		return true
	}
	return p.doomed[ordinal] || p.taken[ordinal] != nil || p.ops.busy(ordinal) || p.ops.nameHeld(ordinal) != nil
}

// create plans a clone. A clone that was decided on before keeps its incarnation and UUID, so that a VM of that
// decision that appears late is recognized; a VM that replaces a lost one gets the next incarnation. Incarnations whose
// UUID another VM has are passed over.
func (p *planner) create(ordinal int32, m *member, reason string) {
	slot := Slot{
		Ordinal: ordinal, Name: VMName(p.in.Name, ordinal), Phase: v1alpha1.VMCloning, Revision: p.in.Revision,
	}
	if m == nil {
		m = &member{state: intended}
	} else {
		slot.Incarnation = m.slot.Incarnation
		if m.state == gone {
			slot.Incarnation++
			reason = fmt.Sprintf("%s does not exist any more", m.slot.MoRef)
		} else {
			slot.UUID = m.slot.UUID
		}
	}
	if slot.UUID == "" || p.uuidTaken(slot.UUID) {
		slot.Incarnation = p.freeIncarnation(ordinal, slot.Incarnation)
		slot.UUID = InstanceUUID(p.in.ID.Group, ordinal, slot.Incarnation)
	}
	m.slot, m.kept = slot, true
	p.insert(m)
	p.try(m, Action{
		Kind: CreateVM, UUID: slot.UUID, Incarnation: slot.Incarnation, Reason: reason,
	})
}
