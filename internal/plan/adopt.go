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

// Adoption is what the group takes over of another group before it clones anything.
type Adoption struct {
	// From is the UID of the other group. Legacy is true for VMs of the original operator; then it is only what they are marked with.
	From   string
	Legacy bool
	// Waits says why nothing can be taken over, or is nil. If somebody has to act, no VM is cloned until then; otherwise it is not known what there
	// is to take over, and nothing is done at all.
	Waits *Blocker
	// Candidates are the VMs that may be taken over. No VM carries the group's stamp.
	Candidates []Candidate
}

// Name says whose VMs they are.
func (a *Adoption) Name() string {
	if a.Legacy {
		return "the original operator"
	}
	return "the VmGroup with UID " + a.From
}

// Candidate is a VM that may be taken over.
type Candidate struct {
	VM vsphere.VM
	// Origin is what makes it the group's to take.
	Origin vsphere.Origin
	// Ordinal that it had, or -1; Revision that it was cloned with.
	Ordinal  int32
	Revision string
}

// takeOver takes VMs of another group, as many as are wanted, into free ordinals. A VM that carries nothing gets a mark first. It is moved into the group's folder, renamed, and stamped, in
// this order: until it carries the stamp it is not the group's, so that nothing else is done to it. Each step is derived from what is seen, so
// that whoever goes on needs to know nothing.
//
// Nothing else is decided until that has ended: a clone would take the place of a VM that comes, and a VM that leaves would make room for one.
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
		p.handsOff = true // nobody knows how many are wanted; what is on its way stays
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
	p.blockers.add(rankAdoption, Blocker{Reason: v1alpha1.ReasonAdopting, Brief: about(chosen, "is", "are") + " being taken over", Message: fmt.Sprintf(
		"Taking over %s of %s: %s. Nothing is cloned or removed until that has ended.", vms(len(chosen)), a.Name(), enumerate(labels(chosen)))})
}

// choose returns the members that are being taken over, by ordinal. The others leave the table: they stay what they are.
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

// candidates are in the order in which they are chosen: those first that are on their way, then by the ordinal that they had.
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

// enter makes a member of a candidate. Its VM is not the group's, so the member has none.
func (p *planner) enter(c *Candidate, ordinal int32) *member {
	m := &member{state: adopting, candidate: c, status: VMStatus{
		Ordinal: ordinal, Name: VMName(p.in.Name, ordinal), MoRef: c.VM.Ref.Value, UUID: c.VM.InstanceUUID, Power: c.VM.Power, Revision: c.Revision,
		Phase: v1alpha1.VMAdopting, Message: fmt.Sprintf("%s, called %s in vCenter, is being taken over", c.VM.Ref.Value, untrusted.Quoted(c.VM.Name)),
	}}
	p.adopting[c.VM.Ref.Value] = m
	return m
}

// ordinalFor chooses a free ordinal: the one whose name the VM has already, the one that it had, or the lowest.
func (p *planner) ordinalFor(c *Candidate) int32 {
	free := func(ordinal int32) bool {
		holder := p.taken[ordinal]
		held := holder != nil && holder.Ref != c.VM.Ref
		m := p.member(ordinal)
		return ordinal >= 0 && (m == nil || m.missing()) && !p.doomed[ordinal] && !held && !p.ops.busy(ordinal) && !p.nameRefused(ordinal)
	}
	for ordinal, ops := range p.ops.inFlight {
		if p.member(ordinal) == nil && slices.ContainsFunc(ops, func(op vsphere.Operation) bool { return op.VM == c.VM.Ref }) {
			return ordinal // status that recorded it is lost
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

// nameRefused is true while vCenter says that something has the name of this ordinal.
func (p *planner) nameRefused(ordinal int32) bool {
	f := p.ops.failure(ordinal, vsphere.OpRename)
	return f != nil && f.reason == v1alpha1.ReasonNameConflict && f.RetryAt.After(p.in.Now)
}

// take plans the next step of a VM.
func (p *planner) take(m *member) {
	vm := &m.candidate.VM
	a := Action{
		MoRef: vm.Ref.Value, ChangeVersion: vm.ChangeVersion, UUID: vm.InstanceUUID, Origin: m.candidate.Origin, Revision: m.candidate.Revision,
		Reason: fmt.Sprintf("the group takes over %s", untrusted.Quoted(vm.Name)),
	}
	moved := p.inFolder(vm)
	switch f := p.ops.failure(m.status.Ordinal, vsphere.OpMove); {
	case !vm.Connected():
		m.status.Message = fmt.Sprintf("%s is to be taken over, and %s: %s", vm.Ref.Value, vm.Connection.Problem(), vm.Connection.WayOut())
		return
	case a.Origin.Stamp == nil && a.Origin.Released == nil:
		a.Kind = ClaimVM // so that it is told from others wherever it lies
	case vm.Name != m.status.Name && (moved || f != nil && f.reason == v1alpha1.ReasonNameConflict):
		a.Kind = RenameVM // something in the folder has the name that it has now
	case !moved:
		a.Kind = MoveVM
	default:
		a.Kind = AdoptVM
	}
	p.try(m, a)
}
