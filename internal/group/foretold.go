package group

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Foretold is the effect of an edit of spec on existing VMs.
type Foretold struct {
	// Known is false if status does not record what the VMs were, so that none is updated.
	Known bool
	// Replaced counts VMs that others replace. Restarted counts VMs that get their size while off, and Grown those that get it while on. Pending counts VMs that get it after a
	// person powers them off. Enlarged counts VMs of which only disks grow, Extended those that also get data disks, and Moved those that get only another network. Kept counts
	// VMs that would need a restart although none can be missing: they stay unchanged.
	Replaced, Restarted, Grown, Pending, Enlarged, Extended, Moved, Kept int
	// Linked counts linked clones that keep their root disk, because vCenter does not grow it.
	Linked int
	// both counts VMs in Moved and in Enlarged or Extended.
	both int
	// Surge is the temporary number of VMs above spec.replicas.
	Surge int32
	// Failed is the number of VMs of the current update that did not become ready.
	Failed int
}

// VMs returns the number of VMs that do not match spec.
func (f Foretold) VMs() int {
	return f.Replaced + f.Restarted + f.Grown + f.Pending + f.Enlarged + f.Extended + f.Linked + f.Moved - f.both + f.Kept
}

// foretell predicts the effect on VMs that do not match spec. An edit to another revision affects all of them except those that leave because of it. An edit that asks for the
// current target affects the VMs of the current update.
func (s *Snapshot) foretell(leaving []int32) (f Foretold) {
	update := s.rollout()
	f.Known = update != nil
	target := plan.Revision(s.Group.Spec)
	same := f.Known && update.Revision == target
	if same {
		f.Failed = len(update.Failed)
	}
	shapes := s.knownShapes()
	for i := range s.Observation.VMs {
		vm := &s.Observation.VMs[i]
		if !s.stamped(*vm) || vm.Tombstone || vm.Stamp.Revision == target || slices.Contains(leaving, vm.Stamp.Ordinal) ||
			same && !slices.Contains(update.From, vm.Stamp.Revision) {
			continue
		}
		change, known := s.inPlace(shapes, vm.Stamp.Revision)
		if !known || !change.Possible() {
			f.Replaced++
			continue
		}
		f.change(vm, change)
	}
	if s.Group.Spec.DeletionPolicy == v1alpha1.DeletionRetain { // no VM is added; a VM that leaves at the end makes up for others until then
		if plan.Unavailable(s.Group.Spec) == 0 && len(leaving) == 0 {
			f.Restarted, f.Kept = 0, f.Restarted
		}
		return f
	}
	if f.Replaced > 0 {
		f.Surge = min(massdeletion.Surge(s.Group.Spec), int32(f.Replaced))
	} else if f.Restarted > 0 && plan.Unavailable(s.Group.Spec) == 0 {
		f.Surge = min(massdeletion.Surge(s.Group.Spec), 1)
	}
	return f
}

// change counts a VM that is changed in place.
func (f *Foretold) change(vm *vsphere.VM, c plan.InPlace) {
	switch way := c.Way(vm, false); {
	case c.GrowsRoot() && vm.Stamp.Linked():
		f.Linked++
	case !c.Resizes() && c.ChangesDisks():
		if c.Adds() {
			f.Extended++
		} else {
			f.Enlarged++
		}
		if c.Reconnects() {
			f.Moved, f.both = f.Moved+1, f.both+1
		}
	case !c.Resizes() && c.Reconnects():
		f.Moved++
	case !c.Resizes(): // only the recorded revision changes
	case way == plan.WayLive:
		f.Grown++
	case way == plan.WayPending:
		f.Pending++
	default:
		f.Restarted++
	}
}
