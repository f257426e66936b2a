package group

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// size of a VM: virtual CPUs, and memory in GiB. The zero size is that of a VM of which nothing is known yet.
type size struct{ cpu, memory int64 }

// sizeOf is what vCenter shows. Memory is rounded up, since quotas count whole GiB.
func sizeOf(vm *vsphere.VM) size { return size{int64(vm.CPU), (vm.MemoryMiB + 1023) / 1024} }

// asked is the size that a spec asks for.
func asked(spec v1alpha1.VmGroupSpec) size { return size{int64(spec.CPU), int64(spec.Memory)} }

func (z size) max(o size) size { return size{max(z.cpu, o.cpu), max(z.memory, o.memory)} }

// described is the size of a VM that vCenter does not show, by the revision that status has of it: it can be another than that of spec. It is zero for a
// revision that status does not describe, and for a clone whose decision status has lost: it has no instance UUID, and its revision is a guess.
func (s *Snapshot) described(ordinal int32) size {
	for i := range s.Group.Status.VMs {
		if vm := &s.Group.Status.VMs[i]; vm.Ordinal == ordinal && (vm.MoRef != "" || vm.UUID != "") {
			for _, shape := range plan.Believed(s.Group.Status.Revisions) {
				if shape.Recorded.Revision == vm.Revision {
					return size{int64(shape.Recorded.CPU), int64(shape.Recorded.Memory)}
				}
			}
		}
	}
	return size{}
}

// becoming is the largest size that a VM can get that is being changed: that of the update which status records or, since spec can have been edited in the meantime, of one
// before it that had not ended.
func (s *Snapshot) becoming() (z size) {
	r := s.Group.Status.Rollout
	if r == nil {
		return z
	}
	for _, shape := range plan.Believed(s.Group.Status.Revisions) {
		if revision := shape.Recorded.Revision; revision == r.Revision || slices.Contains(r.From, revision) {
			z = z.max(size{int64(shape.Recorded.CPU), int64(shape.Recorded.Memory)})
		}
	}
	return z
}

// existing is the number of VMs of the group, by ordinal, with those whose clone is under way: a copy of a VM is no other one.
func (s *Snapshot) existing() int32 { return int32(len(s.sizes)) }

// taken is what the VMs take that exist, or are being cloned: of each, the larger of what vCenter shows and what was admitted, or what spec
// asks for where nothing was. What leaves counts until it is gone, and what was released as long as it carries the release mark.
func (s *Snapshot) taken() policy.Usage {
	shape := s.Group.Spec
	if a := s.Admitted; shaped(a) {
		shape = policy.AdmittedSpec(shape, *a)
	}
	return s.counted(asked(shape))
}

// stands is what the VMs take that exist, as vCenter shows them.
func (s *Snapshot) stands() policy.Usage { return s.counted(size{}) }

// counted adds up all VMs that count, those that do not leave each at least of a size.
func (s *Snapshot) counted(least size) policy.Usage {
	u := s.live(least).Add(sum(s.leaving)).Add(sum(s.released))
	if u.VMs > 0 {
		u.Groups = 1
	}
	return u
}

// sum adds up VMs.
func sum(sizes []size) (u policy.Usage) {
	for _, z := range sizes {
		u = u.Add(policy.Usage{VMs: 1, CPU: z.cpu, Memory: z.memory})
	}
	return u
}

// explainOthers adds to what quotas refuse that VMs count which the group has given up.
func (s *Snapshot) explainOthers(refused []policy.Violation) []policy.Violation {
	var why string
	if n := len(s.leaving); n > 0 {
		why = fmt.Sprintf(" (%d VMs that this group removes count until they are gone; then it is looked at again)", n)
	}
	if n := len(s.released); n > 0 {
		why += fmt.Sprintf(" (%d VMs that this group retained count until they are deleted, or the platform team removes %s from them)", n, vsphere.ReleaseKey)
	}
	if why == "" {
		return refused
	}
	refused = slices.Clone(refused)
	for i := range refused {
		refused[i].Detail += why
	}
	return refused
}

// Leaves is what stays charged when the group is let go: the VMs that it released or keeps, and no group. Of a vCenter that is gone nothing does.
func (s *Snapshot) Leaves() policy.Usage {
	switch answer := s.Receipt; {
	case answer == nil:
		return sum(s.released)
	case answer.Receipt.Forgotten:
		return policy.Usage{}
	default:
		return Remains(s.ID, &s.Observation)
	}
}

// Remains is what is left in vCenter of a group that does not exist any more: its VMs, and those that it released.
func Remains(id vsphere.GroupID, seen *vsphere.Observation) (u policy.Usage) {
	var sizes []size
	for i := range seen.VMs {
		if vm := &seen.VMs[i]; vm.Stamp != nil && vm.Stamp.SameGroup(id) {
			sizes = append(sizes, sizeOf(vm))
		}
	}
	for i := range seen.Released {
		sizes = append(sizes, sizeOf(&seen.Released[i]))
	}
	return sum(sizes)
}

// wants is what the group takes at most until it is as spec says: its VMs stay as large as they are, and new ones are as spec says. They are cloned beside
// those that leave, except by an update.
func (s *Snapshot) wants() policy.Usage {
	if len(s.updates().From) == 0 {
		return s.wantsWith(s.amounts(), policy.UsageOf(s.Group.Spec).VMs).Add(sum(s.leaving))
	}
	return s.updating(s.withLeaving(), 0)
}

// surges are what the group takes at most while its VMs are updated, with one VM more than it wants, with two more, and so on.
func (s *Snapshot) surges() (all []policy.Usage) {
	n := s.surge()
	if n == 0 {
		return nil
	}
	sizes := s.withLeaving()
	for k := int32(1); k <= n; k++ {
		all = append(all, s.updating(sizes, int64(k)))
	}
	return all
}

// updating is what the group takes at most while its VMs are updated, with so many VMs more than spec says. An update clones nothing beyond that: a VM
// that leaves counts until it is gone, and its successor waits for its room. VMs that are too many already stay for a while beside those that grow, or grow
// themselves. A VM that is out of sight may still exist.
func (s *Snapshot) updating(sizes amounts, more int64) policy.Usage {
	there := int64(s.existing()) + int64(len(s.leaving)) + int64(len(s.hidden()))
	return s.wantsWith(sizes, max(there, policy.UsageOf(s.Group.Spec).VMs+more))
}

// withLeaving are the amounts of all VMs that can exist at the same time during an update. The successor of one that leaves, which takes its room, is as large as
// spec says.
func (s *Snapshot) withLeaving() amounts {
	a := s.amounts()
	for _, z := range s.leaving {
		a.add(z)
	}
	for _, ordinal := range s.hidden() {
		if slices.Contains(s.Group.Status.Deleting, ordinal) {
			a.add(s.described(ordinal))
		}
	}
	a.sort()
	return a
}

// hidden are the ordinals of VMs that status names, and that vCenter neither shows nor has confirmed to be gone.
func (s *Snapshot) hidden() (ordinals []int32) {
	for i := range s.Group.Status.VMs {
		vm := &s.Group.Status.VMs[i]
		if _, there := s.sizes[vm.Ordinal]; !there && s.outOfSight(*vm) {
			ordinals = append(ordinals, vm.Ordinal)
		}
	}
	return ordinals
}

// amounts are the CPUs and memories of VMs, the largest first.
type amounts struct {
	cpus, memories []int64
	least          size
}

func (a *amounts) add(z size) {
	z = z.max(a.least)
	a.cpus, a.memories = append(a.cpus, z.cpu), append(a.memories, z.memory)
}

// amounts are those of the VMs that are there, or come back as they were, each at least as large as spec says. As long as no VM of spec's revision has
// been ready, an update makes up for others with older ones.
func (s *Snapshot) amounts() amounts {
	n := len(s.sizes) + len(s.Group.Status.VMs)
	a := amounts{make([]int64, 0, n), make([]int64, 0, n), asked(s.Group.Spec)}
	for _, z := range s.sizes {
		a.add(z)
	}
	for i := range s.Group.Status.VMs {
		vm := &s.Group.Status.VMs[i]
		if _, there := s.sizes[vm.Ordinal]; there || slices.Contains(s.Group.Status.Deleting, vm.Ordinal) {
			continue
		}
		if old := s.old(vm.Revision); old != nil {
			a.add(asked(old.Spec))
		}
	}
	if largest, left := s.older(); left > 0 {
		for range min(policy.UsageOf(s.Group.Spec).VMs, mostReplicas) - left {
			a.add(largest)
		}
	}
	a.sort()
	return a
}

func (a *amounts) sort() {
	descending := func(a, b int64) int { return cmp.Compare(b, a) }
	slices.SortFunc(a.cpus, descending)
	slices.SortFunc(a.memories, descending)
}

// mostReplicas is the most that a group can have: of one that asks for more nothing is cloned.
const mostReplicas = 500

// older is the size of the largest shape that VMs are updated from, and how many such VMs there are.
func (s *Snapshot) older() (largest size, left int64) {
	from := s.updates().From
	if u := s.Group.Spec.UpdateStrategy; len(from) == 0 || u != nil && u.Type == v1alpha1.UpdateOnDelete {
		return size{}, 0
	}
	for i := range s.Old {
		if slices.Contains(from, s.Old[i].Recorded.Revision) {
			largest = largest.max(asked(s.Old[i].Spec))
		}
	}
	for i := range s.Observation.VMs {
		if vm := &s.Observation.VMs[i]; s.stamped(*vm) && !vm.Tombstone && slices.Contains(from, vm.Stamp.Revision) {
			left++
		}
	}
	return largest, left
}

// wantsWith is what the group takes with so many VMs, and with those that it released.
func (s *Snapshot) wantsWith(a amounts, vms int64) policy.Usage {
	wants := policy.UsageOf(s.Group.Spec)
	wants.VMs = vms
	wants.CPU, wants.Memory = largest(a.cpus, vms, a.least.cpu), largest(a.memories, vms, a.least.memory)
	return wants.Add(sum(s.released))
}

// largest adds up the n largest of some amounts, which come first, with others where there are fewer. Which VMs leave is for their owner to say, so
// those that stay may be the largest.
func largest(amounts []int64, n, others int64) int64 {
	total := max(0, n-int64(len(amounts))) * others
	for _, amount := range amounts[:min(int(n), len(amounts))] {
		total += amount
	}
	return total
}

// live adds up the VMs that are not about to leave, each at least of a size.
func (s *Snapshot) live(least size) (u policy.Usage) {
	for _, z := range s.sizes {
		z = z.max(least)
		u = u.Add(policy.Usage{VMs: 1, CPU: z.cpu, Memory: z.memory})
	}
	return u
}
