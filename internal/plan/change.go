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
	if own == nil || !sameButInPlace(own.Recorded, target.Recorded) {
		return changeReplace
	}
	resized := own.Recorded.CPU != target.Recorded.CPU || own.Recorded.Memory != target.Recorded.Memory
	switch {
	case resized && p.spec.update.resize == v1alpha1.ResizeRecreate:
		return changeReplace
	case m.vm == nil:
		return changeWaits
	case m.vm.Power == vsphere.PoweredOff || !resized:
		return changeLive
	case m.vm.Power != vsphere.PoweredOn:
		return changeWaits // suspended from outside, or unknown
	case !p.hotRefused(m, target.Recorded) && !m.status.Updating:
		return changeLive
	case !p.spec.wantOn:
		return changeWaits // it is being stopped anyway
	case p.spec.update.resize == v1alpha1.ResizeHot:
		return changePending
	}
	return changeRestart
}

// sameButInPlace is true for shapes that differ in nothing but what can be changed of a VM.
func sameButInPlace(a, b v1alpha1.Revision) bool {
	a.CPU, a.Memory = b.CPU, b.Memory
	a.Placement = withNetwork(a.Placement, networkOf(b))
	return hash(a) == hash(b)
}

func withNetwork(p *v1alpha1.Placement, network string) *v1alpha1.Placement {
	out := v1alpha1.Placement{}
	if p != nil {
		out = *p
	}
	out.Network = network
	return &out
}

func networkOf(r v1alpha1.Revision) string {
	if r.Placement == nil {
		return ""
	}
	return r.Placement.Network
}

// memoryMiB of a shape, which has GiB.
func memoryMiB(r v1alpha1.Revision) int64 { return int64(r.Memory) * 1024 }

// hotRefused is true for a VM that cannot get the size of the target while it is on: as far as it says, and as vCenter said when it was tried.
func (p *planner) hotRefused(m *member, target v1alpha1.Revision) bool {
	if can, _ := vsphere.CanHotAdd(*m.vm, target.CPU, memoryMiB(target)); !can {
		return true
	}
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
