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
	// else has powered them off; Moved get another network and nothing else.
	Replaced, Restarted, Grown, Pending, Moved int
	// Surge is how many VMs above spec.replicas that takes for a while.
	Surge int32
}

// VMs is how many VMs are concerned.
func (f Foretold) VMs() int { return f.Replaced + f.Restarted + f.Grown + f.Pending + f.Moved }

// foretell says what becomes of the VMs that are not as spec says. An edit concerns all of them.
func (s *Snapshot) foretell() (f Foretold) {
	f.Known = s.Group.Status.Rollout != nil
	target := plan.ShapeOf(s.Group.Spec)
	shapes := plan.Believed(s.Group.Status.Revisions)
	for i := range s.Observation.VMs {
		vm := &s.Observation.VMs[i]
		if !s.stamped(*vm) || vm.Tombstone || vm.Stamp.Revision == target.Revision {
			continue
		}
		at := slices.IndexFunc(shapes, func(shape plan.Shape) bool { return shape.Recorded.Revision == vm.Stamp.Revision })
		if at < 0 || !InPlace(shapes[at].Recorded, &s.Group.Spec) {
			f.Replaced++
			continue
		}
		f.resize(vm, shapes[at].Recorded, target, s.Group.Spec.UpdateStrategy)
	}
	if f.Replaced > 0 && s.Group.Spec.DeletionPolicy != v1alpha1.DeletionRetain {
		f.Surge = min(massdeletion.Surge(s.Group.Spec), int32(f.Replaced))
	} else if f.Restarted > 0 {
		f.Surge = min(massdeletion.Surge(s.Group.Spec), 1)
	}
	return f
}

// resize counts a VM that is changed in place.
func (f *Foretold) resize(vm *vsphere.VM, from, to v1alpha1.Revision, strategy *v1alpha1.UpdateStrategy) {
	can, _ := vsphere.CanHotAdd(*vm, to.CPU, int64(to.Memory)*1024)
	switch {
	case from.CPU == to.CPU && from.Memory == to.Memory:
		f.Moved++
	case can || vm.Power == vsphere.PoweredOff:
		f.Grown++
	case strategy != nil && strategy.Resize == v1alpha1.ResizeHot:
		f.Pending++
	default:
		f.Restarted++
	}
}
