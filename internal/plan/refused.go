package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

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
	return m.status.Updating && p.outdated(m) && f != nil && f.Revision == p.roll.Revision && (vsphere.KindOf(f.Err) == vsphere.KindSpec || p.stoppedForADisk(m, f))
}

// stoppedForADisk is true for a VM that is off, and whose larger disk vCenter refuses for lack of space or of a privilege. It would be stopped again and again: a try while it runs
// does not show such a refusal.
func (p *planner) stoppedForADisk(m *member, f *failure) bool {
	if c, known := p.inPlace(m); !known || !c.ChangesDisks() || m.vm == nil || m.vm.Power != vsphere.PoweredOff {
		return false
	}
	kind := vsphere.KindOf(f.Err)
	return kind == vsphere.KindCapacity || kind == vsphere.KindPermission
}

// wasRefused is true for a VM whose refusal is recorded in status. A VM that must be replaced is excluded, because it can have the UUID of one that failed and left.
func (p *planner) wasRefused(m *member) bool {
	c, known := p.inPlace(m)
	return known && p.outdated(m) && slices.Contains(p.roll.Failed, strings.ToLower(m.status.UUID)) && c.Possible() && (c.Resizes() || c.ChangesDisks())
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

// afterRefusal returns what a person does about a refused size. For the same size again, see retryRefused: the operator must have observed the old size, and an update to it ends
// with UpToDate. The schema refuses the old size of a disk, but each larger one is a new request.
func (p *planner) afterRefusal() string {
	if shape := p.in.Spec.Shape(); shape.RootDiskGiB() > 0 || len(shape.DataDisks()) > 0 {
		return "Set another size; or mend what was in the way, and set a larger disk, or the old cpu and memory, and once condition UpToDate is True these again."
	}
	return "Set another size, such as the old one; or mend what was in the way, set the old size, and once condition UpToDate is True this one again."
}

// explainSize reports VMs that stay unchanged, because vCenter refused to give them the size of spec.
func (p *planner) explainSize() string {
	var refused []string
	for _, m := range p.table() {
		if !m.doomed && p.change(m) == changePending {
			refused = append(refused, m.status.Name)
		}
	}
	return fmt.Sprintf("vCenter refused to give %s to these (its tasks have the reason), so they stay as they are: %s. %s",
		sizeOf(ShapeOf(p.in.Spec)), enumerate(refused), p.afterRefusal())
}
