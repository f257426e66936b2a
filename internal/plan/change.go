package plan

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// change is what a VM needs to be as the update wants it.
type change int

const (
	// changeNone: the update does not concern it.
	changeNone change = iota
	// changeReplace: another VM has to come in its place.
	changeReplace
	// changeLive: it can be changed as it is.
	changeLive
	// changeRestart: it has to be off for that.
	changeRestart
	// changePending: it has to be off for that, and is not to be restarted.
	changePending
	// changeDenied: it has to be off for that, and the operator's account may not change it.
	changeDenied
	// changeBusy: it has to be off for that, and was stopped for it a short while ago in vain.
	changeBusy
	// changeWaits: nobody knows yet, or it is on its way to be off.
	changeWaits
)

// change decides by what the VM and the target are made of. A VM of which that is not known is replaced.
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
		return changeWaits // it is being stopped anyway
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

// hotRefused is true for a VM that vCenter did not give the size of the target while it was on.
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
