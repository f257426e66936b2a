package plan

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// replicas plans to clone missing VMs at the lowest free ordinals, or to remove surplus VMs in the scale-down order. Clones in flight count as VMs.
//
// At the end, a VM that was deleted or only intended leaves the table, unless it is cloned here or kept by repair.
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

// fill creates missing VMs. A suspect VM that was chosen to leave can still stay: see reprieve. A deleted VM can have a successor: see followed.
func (p *planner) fill(have int32) {
	room := p.wanted() - have
	for _, m := range p.table() {
		if m.missing() && m.kept || m.doomed && m.state == suspect || p.followed(m) {
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
		if may--; may < 0 { // a VM that leaves makes room for it
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

// followed is true for a deleted VM of a restored status if another VM of the group has its ordinal since. This pass drops the record, and the next one adopts that VM.
func (p *planner) followed(m *member) bool {
	return m.state == gone && slices.ContainsFunc(p.unclaimed[m.status.Ordinal], func(vm *vsphere.VM) bool { return p.genuine(vm, nil) })
}

// cloneOrSay clones the VM of an ordinal in its revision, or reports why it cannot be cloned.
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
		m.kept = true // the operator searches for it, and the group gets the result
		if p.undecided(m) {
			m.status.Message = fmt.Sprintf("%s, which it replaces, is being looked for in vCenter", m.status.Replaces.MoRef)
		}
	case !p.spec.noCreate && blocked == nil:
		p.create(ordinal, m, revision, reason)
	case m != nil:
		m.kept = true // a later clone needs its incarnation
		m.status.Message = "the VM cannot be cloned now: see the group's message"
	}
}

// occupied reports whether an ordinal cannot get a new VM: it has a VM, its VM is being removed, another VM has its name, or an operation for it is in flight.
func (p *planner) occupied(ordinal int32) bool {
	if m := p.member(ordinal); m != nil && (!m.missing() || m.kept) {
		return true
	}
	return p.doomed[ordinal] || p.taken[ordinal] != nil || p.ops.busy(ordinal) || p.nameHeld(ordinal) != nil
}

// create plans a clone. If this clone was planned before, it keeps its incarnation and UUID. The VM of the earlier plan can then appear late and still be recognized. A VM that
// replaces a lost one gets the next incarnation. create skips an incarnation whose UUID another VM has.
func (p *planner) create(ordinal int32, m *member, revision, reason string) {
	status := VMStatus{Ordinal: ordinal, Name: VMName(p.in.Name, ordinal), Phase: v1alpha1.VMCloning, Revision: revision}
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
	if !p.stopped() { // otherwise the update would continue because of it
		p.roll.forgive(status.UUID)
	}
	m.status, m.kept = status, true
	p.insert(m)
	p.try(m, Action{Kind: CreateVM, UUID: status.UUID, Incarnation: status.Incarnation, Revision: status.Revision, Reason: reason})
}

// stale is true for a VM that no longer exists as far as is known. A person can have registered it again since vCenter was asked. Earlier attempts to replace the VM can have
// failed for hours, so vCenter is asked again before each attempt.
func (p *planner) stale(m *member) bool {
	ref := vsphere.VMRef(m.status.MoRef)
	if m.state == intended {
		ref = vsphere.VMRef(m.status.Replaces.MoRef)
	}
	return ref.Value != "" && slices.Contains(p.in.Observation.Stale, ref) || p.undecided(m)
}

// undecided is true if this process does not know what became of the VM that is replaced, because vCenter answered another process.
func (p *planner) undecided(m *member) bool {
	return m.state == intended && m.status.Replaces.MoRef != "" && p.in.Observation.Undecided(vsphere.VMRef(m.status.Replaces.MoRef))
}
