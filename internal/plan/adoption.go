package plan

import (
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// adoption decides about stamped VMs that status does not record. Such a VM exists if the operator stopped between a clone and its record.
//
// The VM is the group's if it looks like a clone of the group and no record contradicts that. It lies in the group's folder under the name of its ordinal, and its instance UUID
// follows from its stamp. vCenter can assign another UUID. The VM is then the group's if vCenter reports that a clone that is still in flight made this VM. (If the operator
// stops or loses the reply then, it reports the VM as a copy and skips its ordinal.) Every other VM with the stamp is a manual copy.
//
// On an incomplete observation no VM is adopted, and no VM that could still be adopted is called a copy: the recorded VM can be invisible.
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
		// A renamed VM of the group can hold the name of another ordinal.
		m := p.members[ordinal]
		if m.vm == nil {
			continue
		}
		if other, ok := p.nameTaken(m.vm); ok && other != ordinal && p.taken[other] == nil {
			p.taken[other] = m.vm
		}
	}
}

// adopt removes the one genuine VM from the candidates, records it, and returns the others.
func (p *planner) adopt(ordinal int32, m *member, candidates []*vsphere.VM) []*vsphere.VM {
	var genuine []*vsphere.VM
	for _, vm := range candidates {
		if p.genuine(vm, m) {
			genuine = append(genuine, vm)
		}
	}
	if len(genuine) > 1 && m != nil && m.state == intended {
		// The clone exists, and the VM that it replaces is back: the group keeps the clone.
		genuine = slices.DeleteFunc(genuine, func(vm *vsphere.VM) bool { return returned(vm, m) })
	}
	if len(genuine) != 1 {
		return candidates // of two genuine VMs, neither can be proven to be the group's
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

// cameBack is true for a VM of the group that was lost and replaced, and that the group does not need now. To adopt it would make the group too large, and one VM would be
// destroyed. A person decides: if spec.replicas is raised, the VM is adopted. If the group is deleted, the VM is deleted with it.
func (p *planner) cameBack(vm *vsphere.VM) bool {
	if !contains(p.in.Replaced, vm.InstanceUUID) || p.in.Deleting || vm.Tombstone || p.doomed[vm.Stamp.Ordinal] {
		return false
	}
	has := int32(0)
	for _, m := range p.members {
		if !m.doomed { // a deleted VM can be registered again as well
			has++
		}
	}
	return has >= p.spec.desired
}

// maxReplaced bounds the replaced VMs in status: see v1alpha1.VmGroupStatus.
const maxReplaced = 100

// nowReplaced returns the replaced VMs that status records. It adds the deleted VMs that the group stops waiting for, and removes those that belong to the group again.
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

// returned reports whether vm is the recorded VM under another reference. The recorded reference was deleted, and vm has the recorded instance UUID. This happens if a person
// registers the VM again, under any name and in any folder below the root. vm can also be the VM that an intended clone replaces.
func returned(vm *vsphere.VM, m *member) bool {
	switch {
	case m == nil || m.known == nil || vm.Stamp.Ordinal != m.known.Ordinal:
		return false
	case m.state == intended:
		return m.known.Replaces.UUID != "" && strings.EqualFold(vm.InstanceUUID, m.known.Replaces.UUID)
	}
	return m.state == gone && m.known.UUID != "" && strings.EqualFold(vm.InstanceUUID, m.known.UUID) && vm.Stamp.Incarnation >= m.known.Incarnation
}

// genuine reports whether vm looks like a clone of the group, given the record of its ordinal.
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
		// The recorded VM was deleted: vm is its replacement, or the same VM registered again.
		return s.Incarnation >= m.known.Incarnation
	}
	if made {
		return s.Incarnation == m.known.Incarnation
	}
	// A later incarnation was recorded once, and status was restored to an older state since.
	return m.known.UUID == "" || strings.EqualFold(vm.InstanceUUID, m.known.UUID) || s.Incarnation > m.known.Incarnation
}
