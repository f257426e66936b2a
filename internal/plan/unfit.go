package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// unfit explains why a running VM is not stopped for a size that it cannot have, or returns nil.
func (p *planner) unfit(m *member, c InPlace) *Blocker {
	if cores := m.vm.HotAdd.CoresPerSocket; c.From.CPU != c.To.CPU && cores > 0 && c.To.CPU%cores != 0 {
		return &Blocker{Reason: v1alpha1.ReasonInvalidSpec, Terminal: true, Message: fmt.Sprintf(
			"spec.cpu is %d, which %s cannot get: it has %d cores per socket, and the number must be a multiple of that. "+setFitting, c.To.CPU, m.status.Name, cores)}
	}
	return nil
}

// retryRefused forgets what vCenter refused before the update began, so that a repeated edit is tried again.
func (p *planner) retryRefused() {
	for ordinal, all := range p.ops.failures {
		p.ops.failures[ordinal] = slices.DeleteFunc(all, func(f failure) bool {
			return f.Kind == vsphere.OpReconfigure && vsphere.KindOf(f.Err) == vsphere.KindSpec && f.At.Before(p.roll.Start)
		})
	}
}

// refused is true for a VM that was stopped to be changed, and whose change vCenter rejected as impossible. It is started unchanged.
func (p *planner) refused(m *member) bool {
	f := p.ops.reconfigureFailure(m.status.Ordinal, p.roll.Revision)
	return m.status.Updating && p.outdated(m) && f != nil && f.Revision == p.roll.Revision && vsphere.KindOf(f.Err) == vsphere.KindSpec
}

// wasRefused is true for a VM whose refusal is recorded in status. A VM that must be replaced is excluded, because it can have the UUID of one that failed and left.
func (p *planner) wasRefused(m *member) bool {
	own, target := p.roll.shapes[m.status.Revision], p.roll.shapes[p.roll.Revision]
	if !p.outdated(m) || own == nil || target == nil || !slices.Contains(p.roll.Failed, strings.ToLower(m.status.UUID)) {
		return false
	}
	c := InPlace{From: own.Recorded, To: target.Recorded, Resize: p.spec.update.resize}
	return c.Possible() && c.Resizes()
}

// firstRefused returns the first VM whose recorded size change vCenter refused, or nil.
func (p *planner) firstRefused() *member {
	for _, m := range p.table() {
		if m.state == present && !m.doomed && p.wasRefused(m) {
			return m
		}
	}
	return nil
}

const (
	setFitting = "Set such a number; or another template with other sockets, whose VMs replace these (their disks are lost)."
	// askAgain: see retryRefused. The operator must have observed the old size, and an update to it ends with UpToDate.
	askAgain = "mend what was in the way, set the old size, and once condition UpToDate is True this one again."
)

// explainSize reports VMs that stay unchanged, because they cannot get the size of spec.
func (p *planner) explainSize() string {
	var unfit, refused []string
	for _, m := range p.table() {
		switch {
		case m.doomed || p.change(m) != changePending:
		case p.wasRefused(m):
			refused = append(refused, m.status.Name)
		default:
			unfit = append(unfit, m.status.Name)
		}
	}
	var parts []string
	if len(unfit) > 0 {
		parts = append(parts, fmt.Sprintf("%d CPUs is no multiple of the cores per socket of these, so they stay as they are: %s. %s", p.in.Spec.CPU, enumerate(unfit), setFitting))
	}
	if len(refused) > 0 {
		parts = append(parts, fmt.Sprintf("vCenter refused to give %s to these (its tasks have the reason), so they stay as they are: %s. Set another size; or %s",
			sizeOf(ShapeOf(p.in.Spec)), enumerate(refused), askAgain))
	}
	return strings.Join(parts, " ")
}

// explainUnfit reports the first VM that is not stopped because its size is impossible.
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
