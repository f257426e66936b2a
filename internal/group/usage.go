package group

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Holds is what a group was admitted, or what it has if nothing was ever admitted: groups that are older than
// status.admitted, or whose status was wiped.
func Holds(group *v1alpha1.VmGroup, existing int32) policy.Usage {
	spec := group.Spec
	if a := group.Status.Admitted; shaped(a) {
		return policy.UsageOf(policy.AdmittedSpec(spec, *a))
	}
	existing = max(existing, group.Status.Replicas, int32(len(group.Status.VMs)))
	if existing == 0 {
		return policy.Usage{}
	}
	spec.Replicas = &existing
	return policy.UsageOf(spec)
}

// Occupies is what a group holds, or what its VMs take that are there still: what leaves counts until it is gone.
func Occupies(group *v1alpha1.VmGroup) policy.Usage {
	holds, admitted := Holds(group, 0), group.Status.Admitted
	there := int32(len(group.Status.VMs))
	if admitted == nil || there <= admitted.Replicas {
		return holds
	}
	spec := policy.AdmittedSpec(group.Spec, *admitted)
	spec.Replicas = &there
	return holds.Max(policy.UsageOf(spec))
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
func Reshaped(group *v1alpha1.VmGroup) bool {
	return shaped(group.Status.Admitted) && !policy.SameShape(group.Spec, *group.Status.Admitted)
}

// quotaQuestion is what is asked of quotas. What a group was granted and needs no more, neither for what it has nor for what it wants,
// others may have. That is known only from vCenter: VMs may be larger than what was admitted last, since an edit does not change them.
func (s *Snapshot) quotaQuestion(wants policy.Usage, claims bool) QuotaQuestion {
	q := QuotaQuestion{Wants: wants, Claims: claims}
	admitted := shaped(s.Group.Status.Admitted)
	if claims || !admitted {
		q.Holds = Holds(s.Group, s.existing()).Max(s.taken())
	}
	switch {
	case !s.Observation.Complete: // nobody knows how large its VMs are
	case admitted:
		q.Returns, q.Occupies = true, Occupies(s.Group).Max(s.taken())
	default:
		q.Returns, q.Occupies = true, q.Holds
	}
	return q
}
