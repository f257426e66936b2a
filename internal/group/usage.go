package group

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Shows is what a group has by its status. It is for groups of which the hub has no record, and of which nobody looks into vCenter.
func Shows(group *v1alpha1.VmGroup) policy.Usage {
	spec := group.Spec
	if a := group.Status.Admitted; shaped(a) {
		return policy.UsageOf(policy.AdmittedSpec(spec, *a))
	}
	existing := max(group.Status.Replicas, own(group))
	if existing == 0 {
		return policy.Usage{}
	}
	spec.Replicas = &existing
	return policy.UsageOf(spec)
}

// ShowsAtMost is what a group has by its status, or what its VMs take that are there still.
func ShowsAtMost(group *v1alpha1.VmGroup) policy.Usage {
	if a := group.Status.Admitted; shaped(a) {
		return Occupies(group, *a)
	}
	return Shows(group)
}

// Occupies is what a group with an admitted shape holds, or what its VMs take that are there still: what leaves counts until it is gone.
func Occupies(group *v1alpha1.VmGroup, admitted v1alpha1.Admitted) policy.Usage {
	spec := policy.AdmittedSpec(group.Spec, admitted)
	holds, there := policy.UsageOf(spec), own(group)
	if there <= admitted.Replicas {
		return holds
	}
	spec.Replicas = &there
	return holds.Max(policy.UsageOf(spec))
}

// own is how many VMs status shows that are not another group's still.
func own(group *v1alpha1.VmGroup) (n int32) {
	for i := range group.Status.VMs {
		if group.Status.VMs[i].Phase != v1alpha1.VMAdopting {
			n++
		}
	}
	return n
}

// Expects is how many VMs a group counts on: those that it wants, or more that it has recorded and does not delete.
func Expects(group *v1alpha1.VmGroup) int {
	if !group.DeletionTimestamp.IsZero() {
		return 0
	}
	recorded := 0
	for _, vm := range group.Status.VMs {
		if vm.MoRef != "" && !slices.Contains(group.Status.Deleting, vm.Ordinal) {
			recorded++
		}
	}
	// A group whose status was wiped has VMs all the same.
	return max(recorded, int(ptr.Deref(group.Spec.Replicas, 1)))
}

// shaped reports whether VMs can be cloned from what was admitted.
func shaped(a *v1alpha1.Admitted) bool { return a != nil && a.CPU > 0 }

// Reshaped reports whether spec asks for VMs of another shape than was admitted.
func (s *Snapshot) Reshaped() bool {
	return shaped(s.Admitted) && !policy.SameShape(s.Group.Spec, *s.Admitted)
}

// holds is what was admitted to the group, or what vCenter has of it if that is more: status can show any number of VMs.
func (s *Snapshot) holds() policy.Usage { return s.granted().Max(s.taken()) }

// granted is what needs no grant of what the group holds: what was admitted. What exists beyond that counts, and is claimed as growth. Without a record it
// is what vCenter has of the group, such as VMs that it adopted: these counted before, for the group that had them.
func (s *Snapshot) granted() policy.Usage {
	if !shaped(s.Admitted) || s.takesOver() {
		return s.taken()
	}
	return policy.UsageOf(policy.AdmittedSpec(s.Group.Spec, *s.Admitted))
}

// misses reports whether vCenter does not show a VM that status names: it counts.
func (s *Snapshot) misses() bool { return slices.ContainsFunc(s.Group.Status.VMs, s.outOfSight) }

// outOfSight reports whether vCenter does not show a VM of status, and has not confirmed that it is gone.
func (s *Snapshot) outOfSight(known v1alpha1.VMStatus) bool {
	o, ref := &s.Observation, vsphere.VMRef(known.MoRef)
	is := func(vm vsphere.VM) bool { return vm.Ref == ref }
	return !ref.IsZero() && !slices.ContainsFunc(o.VMs, is) && !slices.ContainsFunc(o.Released, is) && !slices.Contains(o.Gone, ref) && !slices.Contains(o.Others, ref)
}

// quotaQuestion is what is asked of quotas. What a group was granted and needs no more, neither for what it has nor for what it wants,
// others may have. That is known only from vCenter: VMs may be larger than what was admitted last, since an edit does not change them.
func (s *Snapshot) quotaQuestion(wants policy.Usage, claims bool) QuotaQuestion {
	q := QuotaQuestion{Wants: wants, Claims: claims}
	admitted := shaped(s.Admitted)
	if claims {
		q.Surges = s.surges()
	}
	if claims || !admitted {
		q.Holds, q.Granted = s.holds(), s.granted()
	}
	switch {
	case !s.Observation.Complete || s.misses(): // it is not known how large its VMs are
	case admitted:
		q.Returns, q.Occupies = true, Occupies(s.Group, *s.Admitted).Max(s.taken())
	default:
		q.Returns, q.Occupies = true, q.Holds
	}
	return q
}
