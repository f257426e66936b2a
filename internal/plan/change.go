package plan

import (
	"fmt"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// change is how an update brings a VM to the target.
type change int

const (
	// changeNone: the update does not concern the VM.
	changeNone change = iota
	// changeReplace: another VM must replace the VM.
	changeReplace
	// changeLive: the VM can be changed in its current power state.
	changeLive
	// changeRestart: the VM must be off for the change.
	changeRestart
	// changePending: the VM must be off for the change, and must not be restarted.
	changePending
	// changeDenied: the VM must be off for the change, and the operator's account lacks the privilege.
	changeDenied
	// changeBusy: the VM must be off for the change, and was recently stopped for it in vain.
	changeBusy
	// changeWaits: the change is not known yet, or the VM is being stopped.
	changeWaits
)

// change decides by the shapes of the VM and the target. A VM of unknown shape is replaced.
func (p *planner) change(m *member) change {
	if !p.outdated(m) {
		return changeNone
	}
	c, known := p.inPlace(m)
	switch {
	case p.roll.shapes[p.roll.Revision] == nil:
		return changeWaits // the group is held at another shape
	case !known, !c.Possible():
		return changeReplace
	case m.vm == nil:
		return changeWaits
	case (c.Resizes() || c.ChangesDisks()) && m.vm.Power != vsphere.PoweredOff && m.vm.Power != vsphere.PoweredOn:
		return changeWaits // suspended from outside, or unknown
	}
	switch way := c.Way(m.vm, p.hotRefused(m, c.To) || m.status.Updating && c.Resizes()); {
	case way == WayLive, p.probes(m, c):
		return changeLive
	case !p.spec.wantOn:
		return changeWaits // the VM is being stopped anyway
	case way == WayPending:
		return changePending
	case p.wasRefused(m):
		return changePending
	case p.wasBusy(m):
		return changeBusy
	case p.denied(m, c):
		return changeDenied
	case p.disabled(m):
		return changeWaits
	}
	return changeRestart
}

// inPlace returns the change of a VM to the target of the update. It returns false if one of the shapes is unknown.
func (p *planner) inPlace(m *member) (InPlace, bool) {
	return p.between(m.status.Revision, p.roll.Revision)
}

// between returns the change from one revision to another. It returns false if one of the shapes is unknown.
func (p *planner) between(from, to string) (InPlace, bool) {
	a, b := p.roll.shapes[from], p.roll.shapes[to]
	if a == nil || b == nil {
		return InPlace{}, false
	}
	return InPlace{From: a.Recorded, To: b.Recorded, Resize: p.spec.update.resize, TemplateCores: p.in.TemplateCores, KeepsNetwork: p.in.KeepsNetwork}, true
}

// probes is true for a running VM that is not stopped yet, because a try of the change shows whether its disk can grow. A VM that was stopped in vain because of its disk is
// tried only while it runs, until nothing is in the way any more.
func (p *planner) probes(m *member, c InPlace) bool {
	if !c.ChangesDisks() || m.vm.Power != vsphere.PoweredOn {
		return false
	}
	f := p.ops.reconfigureFailure(m.status.Ordinal, c.To.Revision)
	if f == nil {
		return !m.status.Updating
	}
	kind := vsphere.KindOf(f.Err)
	return kind == vsphere.KindGrowthBlocked || kind == vsphere.KindSpec && !m.status.Updating
}

// hotRefused is true for a VM that vCenter refused to resize to the target while it was on.
func (p *planner) hotRefused(m *member, target v1alpha1.Revision) bool {
	f := p.ops.reconfigureFailure(m.status.Ordinal, target.Revision)
	return f != nil && vsphere.KindOf(f.Err) == vsphere.KindOffOnly
}

// sizeOf names a size for a person.
func sizeOf(r v1alpha1.Revision) string {
	cpus := fmt.Sprintf("%d CPUs", r.CPU)
	if r.CPU == 1 {
		cpus = "1 CPU"
	}
	if r.CoresPerSocket != 0 {
		cpus += fmt.Sprintf(" in sockets of %d", r.CoresPerSocket)
	}
	parts := []string{cpus, fmt.Sprintf("%d GiB of memory", r.Memory)}
	if n := r.RootDiskGiB(); n != 0 {
		parts = append(parts, fmt.Sprintf("a root disk of %d GiB", n))
	}
	for _, d := range r.DataDisks() {
		parts = append(parts, fmt.Sprintf("data disk %s of %d GiB", d.Name, d.SizeGiB))
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}
