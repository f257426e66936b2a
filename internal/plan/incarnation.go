package plan

import (
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// freeIncarnation returns the lowest incarnation of an ordinal, from the given one on, whose instance UUID no VM is
// seen to have. A VM that was released keeps its UUID; once it is renamed, its ordinal is used again, and vCenter would
// give a clone that asks for the same UUID another one, or give the released VM another one.
func (p *planner) freeIncarnation(ordinal, from int32) int32 {
	for p.uuidTaken(InstanceUUID(p.in.ID.Key(), ordinal, from)) {
		from++
	}
	return from
}

// wasOurs is true for a VM that has the instance UUID of one of this ordinal's: deletionPolicy Retain let it go.
func (p *planner) wasOurs(vm *vsphere.VM, ordinal int32) bool {
	return WasGenuine(p.in.ID.Key(), ordinal, vm.InstanceUUID)
}

// uuidTaken is true for the instance UUID of a VM that is seen.
func (p *planner) uuidTaken(uuid string) bool {
	if p.uuids == nil {
		p.uuids = make(map[string]bool, len(p.in.Observation.VMs))
		for _, vm := range p.in.Observation.VMs {
			p.uuids[strings.ToLower(vm.InstanceUUID)] = true
		}
	}
	return p.uuids[strings.ToLower(uuid)]
}

// replacement is true when the VM of this ordinal makes up for one that was lost.
func (p *planner) replacement(m *member) bool {
	return m.status.Incarnation > 0 && m.status.Incarnation > p.freeIncarnation(m.status.Ordinal, 0)
}
