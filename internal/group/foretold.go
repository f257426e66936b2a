package group

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Foretold is what an edit of spec does to the VMs that exist.
type Foretold struct {
	// Known is false where status does not say what the VMs were, so that none is updated.
	Known bool
	// Replaced are VMs in whose place others come; Restarted get their size while they are off, Grown while they run; Pending get it when somebody
	// else has powered them off; Moved get another network and nothing else. Kept would have to be restarted, and none may be missing meanwhile: they
	// stay as they are.
	Replaced, Restarted, Grown, Pending, Moved, Kept int
	// Surge is how many VMs above spec.replicas that takes for a while.
	Surge int32
	// Failed is how many VMs of the update that is under way already did not become ready.
	Failed int
}

// VMs is how many VMs are concerned.
func (f Foretold) VMs() int { return f.Replaced + f.Restarted + f.Grown + f.Pending + f.Moved + f.Kept }

// foretell says what becomes of the VMs that are not as spec says. An edit to another revision concerns all of them but those that leave because of it. One
// that asks for what VMs are brought to already concerns those of that update.
func (s *Snapshot) foretell(leaving []int32) (f Foretold) {
	update := s.rollout()
	f.Known = update != nil
	target := plan.Revision(s.Group.Spec)
	same := f.Known && update.Revision == target
	if same {
		f.Failed = len(update.Failed)
	}
	shapes := plan.Believed(s.Group.Status.Revisions)
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
	if s.Group.Spec.DeletionPolicy == v1alpha1.DeletionRetain { // no VM is added; one that leaves in the end makes up for others until then
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
	case !c.Resizes():
		f.Moved++
	case way == plan.WayLive:
		f.Grown++
	case way == plan.WayPending:
		f.Pending++
	default:
		f.Restarted++
	}
}
