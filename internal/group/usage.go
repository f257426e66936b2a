package group

import (
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Shows returns the usage of a group by its status: the admitted usage, or that of its existing VMs. Each VM counts with the size of its revision or the admitted size, whichever
// is larger.
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

// recorded adds up the VMs in status, each with the size of its revision, and at least that of spec.
func recorded(group *v1alpha1.VmGroup, spec v1alpha1.VmGroupSpec) (u policy.Usage) {
	least := asked(spec)
	for i := range group.Status.VMs {
		vm := &group.Status.VMs[i]
		if !counts(vm) {
			continue
		}
		z, replaced := diskOf(vm), false
		for _, revisions := range [][]v1alpha1.Revision{group.Status.Revisions, group.Status.AdoptedRevisions} {
			for j := range revisions {
				if r := &revisions[j]; r.Revision == vm.Revision {
					z = z.max(shapeSize(r.VMShape))
					replaced = len(least.data) > 0 && !plan.InPlaceAs(&spec, *r, 0, false).Possible()
				}
			}
		}
		z = z.becomes(least, replaced)
		u = u.Add(z.usage())
	}
	return u
}

// Stands returns the usage of the VMs that vCenter shows of a group. A copy of a VM does not count, unless either VM is to be destroyed.
func Stands(marked []vsphere.Marked) policy.Usage {
	byOrdinal := map[int32]size{}
	var others []size
	for i := range marked {
		m := &marked[i]
		z := sizeOf(&vsphere.VM{CPU: m.CPU, MemoryMiB: m.MemoryMiB, RootDiskGiB: m.RootDiskGiB, DataDisks: m.DataDisks})
		if m.Released || m.Tombstone {
			others = append(others, z)
		} else {
			byOrdinal[m.Ordinal] = byOrdinal[m.Ordinal].max(z)
		}
	}
	return sum(slices.AppendSeq(others, maps.Values(byOrdinal)))
}

// Occupies returns the usage of a group with an admitted shape, or of its existing VMs: a VM that leaves counts until it is deleted.
func Occupies(group *v1alpha1.VmGroup, admitted v1alpha1.Admitted) policy.Usage {
	spec := policy.AdmittedSpec(group.Spec, admitted)
	holds, there := policy.UsageOf(spec), own(group)
	if there <= admitted.Replicas {
		return holds
	}
	spec.Replicas = &there
	return holds.Max(policy.UsageOf(spec))
}

// Acted reports whether status shows that the operator created something for a group in its vCenter.
func Acted(group *v1alpha1.VmGroup) bool {
	s := &group.Status
	return s.Folder != nil || len(s.VMs)+len(s.Deleting) > 0 || s.Replicas > 0
}

// own returns the number of VMs in status that no longer belong to another group.
func own(group *v1alpha1.VmGroup) (n int32) {
	for i := range group.Status.VMs {
		if counts(&group.Status.VMs[i]) {
			n++
		}
	}
	return n
}

// counts reports whether a VM in status is the group's already.
func counts(vm *v1alpha1.VMStatus) bool { return vm.Phase != v1alpha1.VMAdopting }

// Expects returns the number of VMs that a group relies on: those that it wants, or those that it has recorded and does not delete, whichever is more.
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
	// A group whose status was cleared still has VMs.
	return max(recorded, int(ptr.Deref(group.Spec.Replicas, 1)))
}

// Recorded returns the references of the VMs in a group's status. unrecorded is true if the group wants VMs and its status has entries for none: status was possibly cleared, and
// its VMs are unknown. An entry without a reference is a VM that is not cloned yet.
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

// shaped reports whether VMs can be cloned from an admitted spec.
func shaped(a *v1alpha1.Admitted) bool { return a != nil && a.CPU > 0 }

// Reshaped reports whether spec asks for VMs of another shape than the admitted one.
func (s *Snapshot) Reshaped() bool {
	return shaped(s.Admitted) && !s.Group.Spec.HasShape(s.Admitted.VMShape)
}

// holds returns the admitted usage of the group, or its usage in vCenter if that is more: status can list any number of VMs.
func (s *Snapshot) holds() policy.Usage { return s.granted().Max(s.taken()) }

// Admits returns the admitted usage in status. Its Groups is 0 if there is none.
func Admits(group *v1alpha1.VmGroup) policy.Usage {
	if a := group.Status.Admitted; shaped(a) {
		return policy.UsageOf(policy.AdmittedSpec(group.Spec, *a))
	}
	return policy.Usage{}
}

// Grants returns the usage that needs no grant, by the hub's record and by the admitted usage in status. Status can only lower it: the excess of a record from a backup has
// possibly been granted to others since.
func Grants(record, admits policy.Usage) policy.Usage {
	if admits.Groups == 0 {
		return record
	}
	return record.Min(admits)
}

// granted returns the part of holds that needs no grant: the admitted usage. Existing usage beyond it counts, and is claimed as growth. Without a record, it is the usage in
// vCenter, such as adopted VMs: these counted before, for the group that had them. The excess in spec was granted to no group.
func (s *Snapshot) granted() (u policy.Usage) {
	if shaped(s.Admitted) {
		u = Grants(policy.UsageOf(policy.AdmittedSpec(s.Group.Spec, *s.Admitted)), Admits(s.Group))
	}
	if !shaped(s.Admitted) || s.takesOver() {
		u = u.Max(s.stands())
	}
	return u
}

// misses reports whether vCenter does not show a VM in status: that VM counts.
func (s *Snapshot) misses() bool { return slices.ContainsFunc(s.Group.Status.VMs, s.outOfSight) }

// clonesUnknown reports whether a clone is in flight whose size is unknown, because status was lost since its submission.
func (s *Snapshot) clonesUnknown() bool {
	return slices.ContainsFunc(s.Observation.InFlight, func(op vsphere.Operation) bool {
		return op.Kind == vsphere.OpClone && s.sizes[op.Ordinal].unknown()
	})
}

// outOfSight reports whether vCenter does not show a VM of status, and has not confirmed its deletion.
func (s *Snapshot) outOfSight(known v1alpha1.VMStatus) bool {
	o, ref := &s.Observation, vsphere.VMRef(known.MoRef)
	is := func(vm vsphere.VM) bool { return vm.Ref == ref }
	return !ref.IsZero() && !slices.ContainsFunc(o.VMs, is) && !slices.ContainsFunc(o.Released, is) && !slices.Contains(o.Gone, ref) && !slices.Contains(o.Others, ref)
}

// quotaQuestion returns the question to quotas. If a group no longer needs a part of its grant, for what it has or for what it wants, others can have it. Only vCenter shows
// this: VMs can be larger than the last admitted spec, since an edit does not change them. The usage in status counts in the totals of others, so it is not given back before
// status is corrected. The same holds for the hub's record while it is not corrected.
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
	case !s.Observation.Complete || s.misses() || s.clonesUnknown(): // the sizes of its VMs are unknown
	case !admitted && s.record.Unread != "": // the group can be held at a record that needs the grant
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
