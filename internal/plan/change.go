package plan

import (
	"fmt"

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
	own, target := p.roll.shapes[m.status.Revision], p.roll.shapes[p.roll.Revision]
	if target == nil {
		return changeWaits // the group is held at another shape
	}
	if own == nil {
		return changeReplace
	}
	c := InPlace{From: own.Recorded, To: target.Recorded, Resize: p.spec.update.resize}
	switch {
	case !c.Possible():
		return changeReplace
	case m.vm == nil:
		return changeWaits
	case c.Resizes() && m.vm.Power != vsphere.PoweredOff && m.vm.Power != vsphere.PoweredOn:
		return changeWaits // suspended from outside, or unknown
	}
	switch way := c.Way(m.vm, p.hotRefused(m, target.Recorded) || m.status.Updating); {
	case way == WayLive:
		return changeLive
	case !p.spec.wantOn:
		return changeWaits // the VM is being stopped anyway
	case way == WayPending:
		return changePending
	case p.unfit(m, c) != nil, p.wasRefused(m):
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
	return fmt.Sprintf("%s and %d GiB of memory", cpus, r.Memory)
}
