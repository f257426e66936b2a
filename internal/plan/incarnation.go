package plan

import (
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// freeIncarnation returns the lowest incarnation of an ordinal, starting at from, whose instance UUID no observed VM has. A released VM keeps its UUID, and after a rename its
// ordinal is used again. If a clone asked for the same UUID, vCenter would give the clone or the released VM another one.
func (p *planner) freeIncarnation(ordinal, from int32) int32 {
	for p.uuidTaken(InstanceUUID(p.in.ID.Key(), ordinal, from)) {
		from++
	}
	return from
}

// wasOurs is true for a VM that deletionPolicy Retain released: it has an instance UUID of this ordinal.
func (p *planner) wasOurs(vm *vsphere.VM, ordinal int32) bool {
	return WasGenuine(p.in.ID.Key(), ordinal, vm.InstanceUUID)
}

// uuidTaken is true if an observed VM has this instance UUID.
func (p *planner) uuidTaken(uuid string) bool {
	if p.uuids == nil {
		p.uuids = make(map[string]bool, len(p.in.Observation.VMs))
		for _, vm := range p.in.Observation.VMs {
			p.uuids[strings.ToLower(vm.InstanceUUID)] = true
		}
	}
	return p.uuids[strings.ToLower(uuid)]
}

// replacement is true if the VM of this ordinal makes up for a lost one.
func (p *planner) replacement(m *member) bool {
	return m.status.Incarnation > 0 && m.status.Incarnation > p.freeIncarnation(m.status.Ordinal, 0)
}
