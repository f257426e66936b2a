package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Adoption describes the VMs that the group adopts from another group before the group clones any VM.
type Adoption struct {
	// From is the UID of the other group. Legacy is true for VMs of the original operator; From is then the value that these VMs are marked with.
	From   string
	Legacy bool
	// Waits explains why no VM can be adopted, or is nil. If Waits is terminal, a person must act and no VM is cloned until then. Otherwise the VMs to adopt are unknown, and the
	// planner takes no action at all.
	Waits *Blocker
	// Candidates are the VMs that can be adopted. None of them carries the group's stamp.
	Candidates []Candidate
}

// Name describes the previous owner of the VMs.
func (a *Adoption) Name() string {
	if a.Legacy {
		return "the original operator"
	}
	return "the VmGroup with UID " + a.From
}

// Candidate is a VM that can be adopted.
type Candidate struct {
	VM vsphere.VM
	// Origin proves that the group can adopt the VM.
	Origin vsphere.Origin
	// Ordinal is the ordinal in the previous group, or -1. Revision is the revision that the VM was cloned with.
	Ordinal  int32
	Revision string
}

// takeOver adopts VMs of another group into free ordinals, at most as many as the group wants. A VM without a stamp or release mark is claimed first. The planner then moves the
// VM into the group's folder, renames it and stamps it, in this order. Until the VM carries the stamp, it is not the group's and gets no other action. Each step follows from the
// observation, so another replica can continue without a record.
//
// No other pass decides anything until the adoption ends. A clone would take the place of a VM that is being adopted, and a VM that leaves would make room for one.
func (p *planner) takeOver() {
	a := p.in.Adoption
	if a == nil {
		return
	}
	if a.Waits != nil {
		p.blockers.add(rankAdoption, *a.Waits)
		if p.spec.noCreate = true; !a.Waits.Terminal {
			p.handsOff = true
		}
		return
	}
	if p.spec.keep {
		p.handsOff = true // the wanted number is unknown; VMs that are being adopted stay
		return
	}
	chosen := p.choose()
	if len(chosen) == 0 {
		p.plan.LeftToAdopt = int32(len(a.Candidates))
		return
	}
	acts := !p.handsOff
	p.handsOff = true
	for _, m := range chosen {
		p.plan.Adopting++
		if acts {
			p.take(m)
		}
		m.status.Phase = v1alpha1.VMAdopting
	}
	p.plan.LeftToAdopt = int32(len(a.Candidates) - len(chosen))
	p.blockers.add(rankAdoption, Blocker{Reason: v1alpha1.ReasonAdopting, Brief: about(chosen, "is", "are") + " being adopted", Message: fmt.Sprintf(
		"Taking over %s of %s: %s. Nothing is cloned or removed until that has ended.", vms(len(chosen)), a.Name(), enumerate(labels(chosen)))})
}

// choose returns the members that are being adopted, by ordinal. The others leave the table and are not changed.
func (p *planner) choose() []*member {
	room := int(p.spec.desired)
	for _, m := range p.table() {
		if m.state != adopting && !m.doomed && !m.missing() {
			room--
		}
	}
	var chosen []*member
	for _, c := range p.candidates() {
		m := p.adopting[c.VM.Ref.Value]
		if len(chosen) >= room && (m == nil || !p.ops.busy(m.status.Ordinal)) {
			if m != nil {
				m.dropped = true
			}
			continue
		}
		if m == nil || p.nameRefused(m.status.Ordinal) {
			if m != nil {
				m.dropped = true
			}
			m = p.enter(c, p.ordinalFor(c))
			p.insert(m)
		}
		chosen = append(chosen, m)
	}
	slices.Sort(p.ordinals)
	slices.SortFunc(chosen, func(a, b *member) int { return cmp.Compare(a.status.Ordinal, b.status.Ordinal) })
	return chosen
}

// candidates returns the candidates in the order of choice: first those whose adoption has begun, then by their previous ordinal.
func (p *planner) candidates() []*Candidate {
	all := make([]*Candidate, 0, len(p.in.Adoption.Candidates))
	for i := range p.in.Adoption.Candidates {
		all = append(all, &p.in.Adoption.Candidates[i])
	}
	turn := func(c *Candidate) int {
		m := p.adopting[c.VM.Ref.Value]
		switch {
		case m != nil && p.ops.busy(m.status.Ordinal):
			return 0
		case p.inFolder(&c.VM):
			return 1
		case m != nil:
			return 2
		}
		return 3
	}
	slices.SortFunc(all, func(a, b *Candidate) int {
		return cmp.Or(turn(a)-turn(b), cmp.Compare(a.Ordinal, b.Ordinal), strings.Compare(a.VM.Name, b.VM.Name), strings.Compare(a.VM.Ref.Value, b.VM.Ref.Value))
	})
	return all
}

// enter makes a member of a candidate. The member has no VM, because the VM is not the group's.
func (p *planner) enter(c *Candidate, ordinal int32) *member {
	m := &member{state: adopting, candidate: c, status: VMStatus{
		Ordinal: ordinal, Name: VMName(p.in.Name, ordinal), MoRef: c.VM.Ref.Value, UUID: c.VM.InstanceUUID, Power: c.VM.Power, Revision: c.Revision,
		Phase: v1alpha1.VMAdopting, Message: fmt.Sprintf("%s, called %s in vCenter, is being adopted", c.VM.Ref.Value, untrusted.Quoted(c.VM.Name)),
	}}
	p.adopting[c.VM.Ref.Value] = m
	return m
}

// ordinalFor chooses a free ordinal: the one that matches the VM's name, the VM's previous ordinal, or the lowest.
func (p *planner) ordinalFor(c *Candidate) int32 {
	free := func(ordinal int32) bool {
		holder := p.taken[ordinal]
		held := holder != nil && holder.Ref != c.VM.Ref
		m := p.member(ordinal)
		return ordinal >= 0 && (m == nil || m.missing()) && !p.doomed[ordinal] && !held && !p.ops.busy(ordinal) && !p.nameRefused(ordinal)
	}
	for ordinal, ops := range p.ops.inFlight {
		if p.member(ordinal) == nil && slices.ContainsFunc(ops, func(op vsphere.Operation) bool { return op.VM == c.VM.Ref }) {
			return ordinal // the status that recorded it was lost
		}
	}
	if named, ok := ordinalOf(p.in.Name, c.VM.Name); ok && named < maxReplicas && free(named) {
		return named
	}
	if c.Ordinal < maxReplicas && free(c.Ordinal) {
		return c.Ordinal
	}
	ordinal := int32(0)
	for !free(ordinal) {
		ordinal++
	}
	return ordinal
}

// nameRefused is true while vCenter reports that the name of this ordinal is taken.
func (p *planner) nameRefused(ordinal int32) bool {
	f := p.ops.failure(ordinal, vsphere.OpRename)
	return f != nil && f.reason == v1alpha1.ReasonNameConflict && f.RetryAt.After(p.in.Now)
}

// take plans the next adoption step of a VM.
func (p *planner) take(m *member) {
	vm := &m.candidate.VM
	a := Action{
		MoRef: vm.Ref.Value, ChangeVersion: vm.ChangeVersion, UUID: vm.InstanceUUID, Origin: m.candidate.Origin, Revision: m.candidate.Revision,
		Reason: fmt.Sprintf("the group takes over %s", untrusted.Quoted(vm.Name)),
	}
	moved := p.inFolder(vm)
	switch f := p.ops.failure(m.status.Ordinal, vsphere.OpMove); {
	case !vm.Connected():
		m.status.Message = fmt.Sprintf("%s is to be adopted, and %s: %s", vm.Ref.Value, vm.Connection.Problem(), vm.Connection.WayOut())
		return
	case a.Origin.Stamp == nil && a.Origin.Released == nil:
		a.Kind = ClaimVM // marks the VM so that it is recognized in any folder
	case vm.Name != m.status.Name && (moved || f != nil && f.reason == v1alpha1.ReasonNameConflict):
		a.Kind = RenameVM // the VM's current name is taken in the folder
	case !moved:
		a.Kind = MoveVM
	default:
		a.Kind = AdoptVM
	}
	p.try(m, a)
}
