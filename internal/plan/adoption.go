package plan

import (
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// adoption decides over stamped VMs that no record names. One is ours when it is what a clone of ours must
// look like: it lies in the group's folder under the name of its ordinal, with the instance UUID that follows
// from its stamp, and nothing that was recorded speaks against it. vCenter may have assigned another UUID: then it
// is ours if vCenter also said that a clone of ours, which is still in flight, made this very VM. (If the operator
// ends, or the reply is lost, just then, the VM is reported as a copy, and its ordinal is passed over.) That happens when the operator ended between
// the clone and the record of it. Everything else that carries the stamp is a copy made by hand.
//
// On an incomplete observation nothing is adopted and nothing is called a copy that might still be adopted:
// the VM that was recorded may just not be visible.
func (p *planner) adoption() {
	ordinals := make([]int32, 0, len(p.unclaimed))
	for ordinal := range p.unclaimed {
		ordinals = append(ordinals, ordinal)
	}
	slices.Sort(ordinals)
	for _, ordinal := range ordinals {
		candidates := p.unclaimed[ordinal]
		m := p.members[ordinal]
		open := m == nil || m.state == cloning || m.missing()
		if open && !p.in.Observation.Complete {
			continue
		}
		if open {
			candidates = p.adopt(ordinal, m, candidates)
		}
		for _, vm := range candidates {
			p.foreign(vm)
		}
	}
	slices.Sort(p.ordinals)
	slices.SortFunc(p.plan.Foreign, func(a, b Foreign) int { return strings.Compare(a.MoRef, b.MoRef) })
	for _, ordinal := range p.ordinals {
		// A VM of ours that was renamed can hold the name of another ordinal.
		m := p.members[ordinal]
		if m.vm == nil {
			continue
		}
		if other, ok := p.nameTaken(m.vm); ok && other != ordinal && p.taken[other] == nil {
			p.taken[other] = m.vm
		}
	}
}

// adopt takes the one genuine VM out of the candidates, and returns the others.
func (p *planner) adopt(ordinal int32, m *member, candidates []*vsphere.VM) []*vsphere.VM {
	var genuine []*vsphere.VM
	for _, vm := range candidates {
		if p.genuine(vm, m) {
			genuine = append(genuine, vm)
		}
	}
	if len(genuine) > 1 && m != nil && m.state == intended {
		// The clone was made after all, and the VM that it replaces is back: the group goes on with the clone.
		genuine = slices.DeleteFunc(genuine, func(vm *vsphere.VM) bool { return returned(vm, m) })
	}
	if len(genuine) != 1 {
		return candidates // with two that look alike, neither can be proven ours
	}
	vm := genuine[0]
	if m == nil && p.cameBack(vm) {
		p.foreignBack(vm)
		return without(candidates, vm)
	}
	status := VMStatus{Ordinal: ordinal, Incarnation: vm.Stamp.Incarnation, UUID: vm.InstanceUUID}
	if m == nil {
		p.ordinals = append(p.ordinals, ordinal)
		p.add(present, nil, vm, status)
	} else {
		p.add(present, m.known, vm, status)
	}
	return without(candidates, vm)
}

func without(candidates []*vsphere.VM, vm *vsphere.VM) []*vsphere.VM {
	return slices.DeleteFunc(slices.Clone(candidates), func(c *vsphere.VM) bool { return c == vm })
}

// cameBack is true for a VM of the group that was lost and replaced, and that the group does not need now. Adoption would make the
// group too large, and one VM would be destroyed. A person decides: if spec.replicas is raised, the VM is adopted. If the group is
// deleted, the VM is deleted with it.
func (p *planner) cameBack(vm *vsphere.VM) bool {
	if !contains(p.in.Replaced, vm.InstanceUUID) || p.in.Deleting || vm.Tombstone || p.doomed[vm.Stamp.Ordinal] {
		return false
	}
	has := int32(0)
	for _, m := range p.members {
		if !m.doomed { // one that is gone may be registered again as well
			has++
		}
	}
	return has >= p.spec.desired
}

// maxReplaced bounds what status records of VMs that were replaced: see v1alpha1.VmGroupStatus.
const maxReplaced = 100

// nowReplaced returns the replaced VMs that status records, with the VMs that do not exist any more and that the group stops waiting
// for, and without those that belong to the group again.
func (p *planner) nowReplaced() []string {
	all := slices.Clone(p.in.Replaced)
	for _, ordinal := range p.ordinals {
		m := p.members[ordinal]
		if m.state == gone && !m.doomed && m.known.UUID != "" && (m.dropped || !strings.EqualFold(m.status.UUID, m.known.UUID)) && !contains(all, m.known.UUID) {
			all = append(all, strings.ToLower(m.known.UUID))
		}
	}
	for _, m := range p.table() {
		if m.state == present {
			all = slices.DeleteFunc(all, func(uuid string) bool { return strings.EqualFold(uuid, m.status.UUID) })
		}
	}
	return all[max(len(all)-maxReplaced, 0):]
}

func contains(uuids []string, uuid string) bool {
	return slices.ContainsFunc(uuids, func(other string) bool { return strings.EqualFold(other, uuid) })
}

// returned says whether vm is the recorded VM by another reference: its old one is gone, and it has the instance UUID that was recorded. That is so once
// somebody has registered it again, under whatever name and in whatever folder below the root. It may also be the one in whose place a VM was to be cloned.
func returned(vm *vsphere.VM, m *member) bool {
	switch {
	case m == nil || m.known == nil || vm.Stamp.Ordinal != m.known.Ordinal:
		return false
	case m.state == intended:
		return m.known.Replaces.UUID != "" && strings.EqualFold(vm.InstanceUUID, m.known.Replaces.UUID)
	}
	return m.state == gone && m.known.UUID != "" && strings.EqualFold(vm.InstanceUUID, m.known.UUID) && vm.Stamp.Incarnation >= m.known.Incarnation
}

// genuine says whether vm is what a clone of ours looks like, given what is recorded of its ordinal.
func (p *planner) genuine(vm *vsphere.VM, m *member) bool {
	s := vm.Stamp
	if returned(vm, m) {
		return true
	}
	made := p.ops.made(s.Ordinal, vm.Ref.Value)
	if s.Ordinal < 0 || !p.inFolder(vm) || vm.Name != VMName(p.in.Name, s.Ordinal) || !made && !Genuine(vm) {
		return false
	}
	if m == nil || m.known == nil {
		return true
	}
	if m.known.MoRef != "" {
		// The recorded VM is gone: this is its replacement, or the same VM registered again.
		return s.Incarnation >= m.known.Incarnation
	}
	if made {
		return s.Incarnation == m.known.Incarnation
	}
	// A later incarnation was recorded once, and status went back since.
	return m.known.UUID == "" || strings.EqualFold(vm.InstanceUUID, m.known.UUID) || s.Incarnation > m.known.Incarnation
}
