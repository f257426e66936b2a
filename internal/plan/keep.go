package plan

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// spare keeps the VMs of a group that is being deleted. Some may have been chosen to leave before somebody asked for that: as long as nothing
// was done that a VM does not come back from, it stays. A VM that nobody sees may have a tombstone: unknown is not absent.
func (p *planner) spare() {
	for _, m := range p.table() {
		leaves := m.vm != nil && m.vm.Tombstone || m.state == suspect || p.ops.leaving(m.status.Ordinal)
		if m.doomed && !leaves {
			m.doomed = false
			delete(p.doomed, m.status.Ordinal)
		}
	}
}

// kept reports whether the VMs of a group that is being deleted are as they shall stay: none leaves, none is being cloned, and none is out of sight.
// One that was moved out of the root folder stays where it is.
func (p *planner) kept() bool {
	return p.in.Deleting && p.in.Keep && !p.handsOff && len(p.in.Observation.InFlight) == 0 && len(p.plan.VMs) > 0 &&
		!slices.ContainsFunc(p.table(), func(m *member) bool { return m.doomed || m.state != present && m.state != elsewhere })
}

// explainKept tells of VMs that are kept what is waited for.
func (p *planner) explainKept() {
	for _, m := range p.table() {
		if p.in.Deleting && p.in.Keep && m.state == cloning && m.status.Phase == v1alpha1.VMCloning {
			m.status.Message = "its clone has not ended; the VM is kept once it is there"
		}
	}
}
