package plan

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// spare keeps the VMs of a group that is being deleted with Keep. Some VMs can have been chosen to leave before Keep was set. They stay unless an irreversible step was taken. A
// suspect VM can have a tombstone, so it still leaves: unknown is not absent.
func (p *planner) spare() {
	for _, m := range p.table() {
		leaves := m.vm != nil && m.vm.Tombstone || m.state == suspect || p.ops.leaving(m.status.Ordinal)
		if m.doomed && !leaves {
			m.doomed = false
			delete(p.doomed, m.status.Ordinal)
		}
	}
}

// kept reports whether the VMs of a group that is being deleted are in their final state: none leaves, is being cloned, or is suspect. A VM that was moved out of the root folder
// stays there.
func (p *planner) kept() bool {
	return p.in.Deleting && p.in.Keep && !p.handsOff && len(p.in.Observation.InFlight) == 0 && len(p.plan.VMs) > 0 &&
		!slices.ContainsFunc(p.table(), func(m *member) bool { return m.doomed || m.state != present && m.state != elsewhere })
}

// explainKept explains for VMs that are kept what the deletion waits for.
func (p *planner) explainKept() {
	for _, m := range p.table() {
		if p.in.Deleting && p.in.Keep && m.state == cloning && m.status.Phase == v1alpha1.VMCloning {
			m.status.Message = "its clone has not ended; the VM is kept once it is there"
		}
	}
}
