package group

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
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

// existing is the number of VMs of the group, by ordinal, with those whose clone is under way: a copy of a VM is no other one.
func (s *Snapshot) existing() int32 { return int32(len(s.sizes)) }

// taken is what the VMs take that exist, or are being cloned: of each, the larger of what vCenter shows and what was admitted, or what spec
// asks for where nothing was. What leaves counts until it is gone, and what was released as long as it carries the release mark.
func (s *Snapshot) taken() policy.Usage {
	shape := s.Group.Spec
	if a := s.Admitted; shaped(a) {
		shape = policy.AdmittedSpec(shape, *a)
	}
	u := s.live(asked(shape)).Add(sum(s.leaving)).Add(sum(s.released))
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

// explainReleased adds to what quotas refuse that VMs count which the group does not show any more.
func (s *Snapshot) explainReleased(refused []policy.Violation) []policy.Violation {
	if len(s.released) == 0 {
		return refused
	}
	refused = slices.Clone(refused)
	for i := range refused {
		refused[i].Detail += fmt.Sprintf(" (%d VMs that this group released count until they are deleted, or the platform team removes %s from them)", len(s.released), vsphere.ReleaseKey)
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

// wants is what the group takes once it is as spec says: its VMs stay as large as they are, and new ones are as spec says.
func (s *Snapshot) wants() policy.Usage {
	wants, least := policy.UsageOf(s.Group.Spec), asked(s.Group.Spec)
	cpus, memories := make([]int64, 0, len(s.sizes)), make([]int64, 0, len(s.sizes))
	for _, z := range s.sizes {
		z = z.max(least)
		cpus, memories = append(cpus, z.cpu), append(memories, z.memory)
	}
	wants.CPU, wants.Memory = largest(cpus, wants.VMs, least.cpu), largest(memories, wants.VMs, least.memory)
	return wants.Add(sum(s.released))
}

// largest adds up the n largest of some amounts, with others where there are fewer. Which VMs leave is for their owner to say, so those that stay
// may be the largest.
func largest(amounts []int64, n, others int64) int64 {
	slices.SortFunc(amounts, func(a, b int64) int { return cmp.Compare(b, a) })
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
