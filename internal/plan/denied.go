package plan

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// denied is true for a VM that the operator's account may not change: as vCenter said when that was tried, or else by what the account lacks on the root
// folder. Such a VM is not stopped to be changed, or it would stay off. The change is tried while the VM is on instead, now and then: vCenter refuses it with
// the name of the privilege, until somebody has granted that. Then it says that the VM has to be off, or just does it.
func (p *planner) denied(m *member, c InPlace) bool {
	if f := p.ops.reconfigureFailure(m.status.Ordinal, c.To.Revision); f != nil {
		switch vsphere.KindOf(f.Err) {
		case vsphere.KindPermission:
			return true
		case vsphere.KindOffOnly:
			return false // the account was asked for nothing but that
		}
	}
	return slices.ContainsFunc(c.Privileges(), func(needed string) bool { return slices.Contains(p.in.Observation.Lacks, needed) })
}

// firstDenied is the first of the VMs that are not stopped because the operator's account may not change them, or nil. No other is stopped meanwhile, and
// one try tells of all.
func (p *planner) firstDenied() *member {
	for _, m := range p.table() {
		if !m.doomed && m.state == present && p.change(m) == changeDenied {
			return m
		}
	}
	return nil
}
