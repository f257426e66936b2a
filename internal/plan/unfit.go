package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// unfit says why no VM that is on is stopped to get a size, or is nil: the VM cannot have it, or vCenter has refused it to a VM that was stopped for it. That
// one is started as it is. One that somebody powers off is tried again.
func (p *planner) unfit(m *member, c InPlace) *Blocker {
	if cores := m.vm.HotAdd.CoresPerSocket; c.From.CPU != c.To.CPU && cores > 0 && c.To.CPU%cores != 0 {
		return &Blocker{Reason: v1alpha1.ReasonInvalidSpec, Terminal: true, Message: fmt.Sprintf(
			"spec.cpu is %d, which %s cannot get: it has %d cores per socket, and the number must be a multiple of that. Set such a number; or a template with other sockets, "+
				"whose VMs replace these.", c.To.CPU, m.status.Name, cores)}
	}
	for _, ordinal := range slices.Sorted(maps.Keys(p.ops.failures)) {
		f := p.ops.reconfigureFailure(ordinal, c.To.Revision)
		if f != nil && f.Revision == c.To.Revision && vsphere.KindOf(f.Err) == vsphere.KindSpec {
			return &Blocker{Reason: f.reason, Terminal: f.terminal, Message: fmt.Sprintf(
				"vCenter refused what spec asks for: %s. No VM is stopped for it any more. Set another size; a VM that you power off in vCenter is tried again.", strings.TrimSuffix(f.message, "."))}
		}
	}
	return nil
}

// explainUnfit tells of the first VM that is not stopped because of that.
func (p *planner) explainUnfit() {
	for _, m := range p.table() {
		if p.spec.update.resize == v1alpha1.ResizeHot || m.doomed || m.state != present || p.change(m) != changePending {
			continue
		}
		own, target := p.roll.shapes[m.status.Revision], p.roll.shapes[p.roll.Revision]
		if b := p.unfit(m, InPlace{From: own.Recorded, To: target.Recorded}); b != nil {
			p.blockers.add(rankSpec, *b)
			return
		}
	}
}
