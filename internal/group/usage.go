package group

import (
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Shows is what a group has by its status: what was admitted, or what its VMs take that are there still, each as large as its revision or what was
// admitted, whichever is larger.
func Shows(group *v1alpha1.VmGroup) policy.Usage {
	spec := group.Spec
	if a := group.Status.Admitted; shaped(a) {
		return Occupies(group, *a).Max(recorded(group, policy.AdmittedSpec(spec, *a)))
	}
	existing := max(group.Status.Replicas, own(group))
	if existing == 0 {
		return policy.Usage{}
	}
	spec.Replicas = &existing
	return policy.UsageOf(spec).Max(recorded(group, spec))
}

// recorded adds up the VMs that status shows, each as large as its revision, and at least as spec says.
func recorded(group *v1alpha1.VmGroup, spec v1alpha1.VmGroupSpec) (u policy.Usage) {
	for i := range group.Status.VMs {
		vm := &group.Status.VMs[i]
		if !counts(vm) {
			continue
		}
		z := asked(spec)
		for j := range group.Status.Revisions {
			if r := &group.Status.Revisions[j]; r.Revision == vm.Revision {
				z = z.max(size{int64(r.CPU), int64(r.Memory)})
			}
		}
		u = u.Add(policy.Usage{VMs: 1, CPU: z.cpu, Memory: z.memory})
	}
	return u
}

// Stands is what VMs take that vCenter shows of a group. A copy of a VM is no other one, unless either is to be destroyed.
func Stands(marked []vsphere.Marked) policy.Usage {
	byOrdinal := map[int32]size{}
	var others []size
	for i := range marked {
		m := &marked[i]
		z := sizeOf(&vsphere.VM{CPU: m.CPU, MemoryMiB: m.MemoryMiB})
		if m.Released || m.Tombstone {
			others = append(others, z)
		} else {
			byOrdinal[m.Ordinal] = byOrdinal[m.Ordinal].max(z)
		}
	}
	return sum(slices.AppendSeq(others, maps.Values(byOrdinal)))
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

// Acted reports whether status shows that something was made for a group in its vCenter.
func Acted(group *v1alpha1.VmGroup) bool {
	s := &group.Status
	return s.Folder != nil || len(s.VMs)+len(s.Deleting) > 0 || s.Replicas > 0
}

// own is how many VMs status shows that are not another group's still.
func own(group *v1alpha1.VmGroup) (n int32) {
	for i := range group.Status.VMs {
		if counts(&group.Status.VMs[i]) {
			n++
		}
	}
	return n
}

// counts reports whether a VM that status shows is the group's already.
func counts(vm *v1alpha1.VMStatus) bool { return vm.Phase != v1alpha1.VMAdopting }

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

// Recorded returns the references of the VMs that a group's status shows. unrecorded is true if it wants VMs and its status has places for none: it may have been wiped,
// and which VMs there were is not known. A place without a reference is one whose VM is still to be cloned.
func Recorded(group *v1alpha1.VmGroup) (refs []string, unrecorded bool) {
	if !group.DeletionTimestamp.IsZero() {
		return nil, false
	}
	for _, vm := range group.Status.VMs {
		if vm.MoRef != "" {
			refs = append(refs, vm.MoRef)
		}
	}
	return refs, len(group.Status.VMs) == 0 && ptr.Deref(group.Spec.Replicas, 1) > 0
}

// shaped reports whether VMs can be cloned from what was admitted.
func shaped(a *v1alpha1.Admitted) bool { return a != nil && a.CPU > 0 }

// Reshaped reports whether spec asks for VMs of another shape than was admitted.
func (s *Snapshot) Reshaped() bool {
	return shaped(s.Admitted) && !policy.SameShape(s.Group.Spec, *s.Admitted)
}

// holds is what was admitted to the group, or what vCenter has of it if that is more: status can show any number of VMs.
func (s *Snapshot) holds() policy.Usage { return s.granted().Max(s.taken()) }

// Admits is what status shows as admitted. It has no group if there is nothing.
func Admits(group *v1alpha1.VmGroup) policy.Usage {
	if a := group.Status.Admitted; shaped(a) {
		return policy.UsageOf(policy.AdmittedSpec(group.Spec, *a))
	}
	return policy.Usage{}
}

// Grants is what of a group needs no grant, by what the hub has on record and by what status admits. Status can only lower it: what a record from a backup
// has beyond that, others may have been granted since.
func Grants(record, admits policy.Usage) policy.Usage {
	if admits.Groups == 0 {
		return record
	}
	return record.Min(admits)
}

// granted is what needs no grant of what the group holds: what was admitted. What exists beyond that counts, and is claimed as growth. Without a record it
// is what vCenter has of the group, such as VMs that it adopted: these counted before, for the group that had them. What spec asks for beyond that was
// granted to none.
func (s *Snapshot) granted() (u policy.Usage) {
	if shaped(s.Admitted) {
		u = Grants(policy.UsageOf(policy.AdmittedSpec(s.Group.Spec, *s.Admitted)), Admits(s.Group))
	}
	if !shaped(s.Admitted) || s.takesOver() {
		u = u.Max(s.stands())
	}
	return u
}

// misses reports whether vCenter does not show a VM that status names: it counts.
func (s *Snapshot) misses() bool { return slices.ContainsFunc(s.Group.Status.VMs, s.outOfSight) }

// clonesUnknown reports whether a clone is in flight whose size is unknown, because status was lost since its submission.
func (s *Snapshot) clonesUnknown() bool {
	return slices.ContainsFunc(s.Observation.InFlight, func(op vsphere.Operation) bool {
		return op.Kind == vsphere.OpClone && s.sizes[op.Ordinal] == size{}
	})
}

// outOfSight reports whether vCenter does not show a VM of status, and has not confirmed that it is gone.
func (s *Snapshot) outOfSight(known v1alpha1.VMStatus) bool {
	o, ref := &s.Observation, vsphere.VMRef(known.MoRef)
	is := func(vm vsphere.VM) bool { return vm.Ref == ref }
	return !ref.IsZero() && !slices.ContainsFunc(o.VMs, is) && !slices.ContainsFunc(o.Released, is) && !slices.Contains(o.Gone, ref) && !slices.Contains(o.Others, ref)
}

// quotaQuestion is what is asked of quotas. What a group was granted and needs no more, neither for what it has nor for what it wants,
// others may have. That is known only from vCenter: VMs may be larger than what was admitted last, since an edit does not change them. What status shows
// counts in the sums of others, so it is not given back either before status is corrected, and neither is what is on record of a group whose record is not corrected now.
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
	case !s.Observation.Complete || s.misses() || s.clonesUnknown(): // it is not known how large its VMs are
	case admitted:
		q.Returns, q.Occupies = true, Occupies(s.Group, *s.Admitted).Max(s.taken()).Max(Shows(s.Group))
	default:
		q.Returns, q.Occupies = true, q.Holds.Max(Shows(s.Group))
	}
	if r := s.record.Admitted; shaped(r) && (s.Paused != nil || s.deleting()) {
		q.Occupies = q.Occupies.Max(policy.UsageOf(policy.AdmittedSpec(s.Group.Spec, *r)))
	}
	return q
}
