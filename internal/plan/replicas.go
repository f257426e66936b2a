package plan

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// replicas plans to clone what is missing, at the lowest free ordinals, or to remove what is too much, in the scale-down order. Clones
// in flight count as VMs.
//
// A VM that is gone, or that was only intended, leaves the table at the end, unless it is cloned here or kept by repair.
func (p *planner) replicas() {
	if p.in.Deleting {
		return
	}
	have := p.population()
	switch surplus := have - p.wanted(); {
	case p.spec.keep:
	case surplus > 0 && p.in.Hold != nil:
		p.surplusHeld = surplus > p.suspects()
	case surplus > 0:
		leave := surplus - p.suspects()
		added := min(leave, max(int32(len(p.surging()))-p.roll.surge, 0))
		p.scaleDown(int(leave-added), p.endSurge(added, leave-added))
	case surplus < 0:
		p.fill(have)
	}
	for _, m := range p.table() {
		if m.missing() && !m.kept {
			m.dropped = true
		}
	}
}

// fill creates what is missing. A VM that was chosen to leave, and that nobody sees now, may yet stay: see reprieve.
func (p *planner) fill(have int32) {
	room := p.wanted() - have
	for _, m := range p.table() {
		if m.missing() && m.kept || m.doomed && m.state == suspect {
			room--
		}
	}
	reason := fmt.Sprintf("the group wants %s and has %d", vms(int(p.spec.desired)), have)
	if have >= p.spec.desired {
		reason = "an update replaces older VMs"
	}
	var made []*member
	may := p.mayCome()
	for ordinal := int32(0); room > 0; ordinal++ {
		if p.occupied(ordinal) {
			continue
		}
		room--
		m := p.member(ordinal)
		if may--; may < 0 { // what leaves makes room for it
			if m != nil {
				m.kept = true
			}
			continue
		}
		if m != nil && (m.state == gone || p.replacement(m)) {
			p.plan.Repairing = true
		}
		p.cloneOrSay(ordinal, m, reason)
		if clone := p.member(ordinal); clone != nil && (m == nil || m.state == intended && !p.replacement(m)) {
			made = append(made, clone)
		}
	}
	p.nameSurge(made)
	slices.Sort(p.ordinals)
}

// cloneOrSay clones the VM of an ordinal, in the revision that it shall have, or says why that cannot be.
func (p *planner) cloneOrSay(ordinal int32, m *member, reason string) {
	revision, blocked := p.revisionFor(m)
	switch {
	case revision == p.in.Revision && blocked == p.in.CreateBlocked:
		p.createsWanted++
	case blocked != nil:
		p.explainOlder(revision, *blocked)
	}
	switch {
	case m != nil && p.stale(m):
		m.kept = true // it is being looked for, and the group is told of the result
		if p.undecided(m) {
			m.status.Message = fmt.Sprintf("%s, which it replaces, is being looked for in vCenter", m.status.Replaces.MoRef)
		}
	case !p.spec.noCreate && blocked == nil:
		p.create(ordinal, m, revision, reason)
	case m != nil:
		m.kept = true // its incarnation is needed when the clone is allowed
		m.status.Message = "the VM cannot be cloned now: see the group's message"
	}
}

// occupied reports whether an ordinal cannot get a new VM: it has one, its VM is being removed, another VM has its name, or a call about
// it is in flight.
func (p *planner) occupied(ordinal int32) bool {
	if m := p.member(ordinal); m != nil && (!m.missing() || m.kept) {
		return true
	}
	return p.doomed[ordinal] || p.taken[ordinal] != nil || p.ops.busy(ordinal) || p.nameHeld(ordinal) != nil
}

// create plans a clone. If this clone was decided on before, it keeps its incarnation and its UUID: the VM of the earlier decision may
// appear late, and is recognized then. A VM that replaces a lost one gets the next incarnation. An incarnation is left out if another
// VM has its UUID.
func (p *planner) create(ordinal int32, m *member, revision, reason string) {
	status := VMStatus{
		Ordinal: ordinal, Name: VMName(p.in.Name, ordinal), Phase: v1alpha1.VMCloning, Revision: revision,
	}
	if m == nil {
		m = &member{state: intended}
	} else {
		status.Incarnation, status.Replaces = m.status.Incarnation, m.status.Replaces
		if m.state == gone {
			status.Incarnation++
			status.Replaces = Lost{MoRef: m.status.MoRef, UUID: m.status.UUID}
			reason = fmt.Sprintf("%s does not exist any more", m.status.MoRef)
		} else {
			status.UUID = m.status.UUID
		}
	}
	if status.UUID == "" || p.uuidTaken(status.UUID) {
		status.Incarnation = p.freeIncarnation(ordinal, status.Incarnation)
		status.UUID = InstanceUUID(p.in.ID.Key(), ordinal, status.Incarnation)
	}
	if !p.stopped() { // else the update would go on by that
		p.roll.forgive(status.UUID)
	}
	m.status, m.kept = status, true
	p.insert(m)
	p.try(m, Action{
		Kind: CreateVM, UUID: status.UUID, Incarnation: status.Incarnation, Revision: status.Revision, Reason: reason,
	})
}

// stale is true for a VM that is gone as far as is known, and that somebody may have registered again since vCenter was asked. An attempt to replace it may have
// failed for hours, so that is asked before each.
func (p *planner) stale(m *member) bool {
	ref := vsphere.VMRef(m.status.MoRef)
	if m.state == intended {
		ref = vsphere.VMRef(m.status.Replaces.MoRef)
	}
	return ref.Value != "" && slices.Contains(p.in.Observation.Stale, ref) || p.undecided(m)
}

// undecided is true where vCenter has not said what became of the VM that is to be replaced: another process was told.
func (p *planner) undecided(m *member) bool {
	return m.state == intended && m.status.Replaces.MoRef != "" && p.in.Observation.Undecided(vsphere.VMRef(m.status.Replaces.MoRef))
}
