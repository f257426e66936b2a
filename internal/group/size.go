package group

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// size of a VM: virtual CPUs, memory in GiB, the stated size of the root disk in GiB, and the data disks. Without CPUs it is unknown, except for the disks.
type size struct {
	cpu, memory, root int64
	// data are the data disks, in any order. They are shared and must not be changed.
	data []v1alpha1.VMDisk
}

func (z size) unknown() bool { return z.cpu == 0 }

// sizeOf returns the size in vCenter. Memory is rounded up, because quotas count whole GiB.
func sizeOf(vm *vsphere.VM) size {
	data, _ := plan.DataDisksOf(vm)
	return size{int64(vm.CPU), (vm.MemoryMiB + 1023) / 1024, int64(vm.RootDiskGiB), data}
}

// sizeOf returns the size of a VM of the group. If the list of its data disks is malformed, those that status records count.
func (s *Snapshot) sizeOf(vm *vsphere.VM) size {
	z := sizeOf(vm)
	if _, known := vm.DataDisks.Attached(); known {
		return z
	}
	for i := range s.Group.Status.VMs {
		if recorded := &s.Group.Status.VMs[i]; recorded.MoRef == vm.Ref.Value {
			z.data = diskOf(recorded).data
		}
	}
	return z
}

// shapeSize returns the size that a shape asks for. A member that ignores the schema can show negative numbers.
func shapeSize(s v1alpha1.VMShape) size {
	z := size{cpu: int64(s.CPU), memory: int64(s.Memory), root: int64(s.RootDiskGiB())}.max(size{})
	for _, d := range s.DataDisks() {
		z.data = append(z.data, v1alpha1.VMDisk{Name: d.Name, SizeGiB: max(d.SizeGiB, 0)})
	}
	return z
}

// diskOf returns the disks of a VM in status. They can be larger than in the VM's revision, or more, because disks do not shrink and data disks stay.
func diskOf(vm *v1alpha1.VMStatus) size {
	return size{root: int64(vm.RootDiskGiB), data: vm.DataDisks[:min(len(vm.DataDisks), vsphere.MostDataDisks)]}
}

// asked returns the size that a spec asks for.
func asked(spec v1alpha1.VmGroupSpec) size { return shapeSize(spec.Shape()) }

// max returns the largest size that a VM of one size gets if it must become as large as the other: it keeps its data disks, and gets those that it lacks.
func (z size) max(o size) size {
	out := size{max(z.cpu, o.cpu), max(z.memory, o.memory), max(z.root, o.root), z.data}
	if len(z.data) == 0 {
		out.data = o.data
		return out
	}
	out.data = slices.Clone(z.data)
	for _, d := range o.data {
		if at := slices.IndexFunc(out.data, func(has v1alpha1.VMDisk) bool { return has.Name == d.Name }); at >= 0 {
			out.data[at].SizeGiB = max(out.data[at].SizeGiB, d.SizeGiB)
		} else {
			out.data = append(out.data, d)
		}
	}
	return out
}

// larger returns the larger of both in each dimension, for VMs of which one takes the place of the other: none gets the disks of both.
func (z size) larger(o size) size {
	out := size{max(z.cpu, o.cpu), max(z.memory, o.memory), max(z.root, o.root), z.data}
	if (size{data: o.data}).storage() > (size{data: z.data}).storage() {
		out.data = o.data
	}
	return out
}

// storage returns the sum of the stated sizes of all disks, in GiB.
func (z size) storage() int64 {
	sum := z.root
	for _, d := range z.data {
		sum += max(int64(d.SizeGiB), 0)
	}
	return sum
}

// usage returns the usage of one VM.
func (z size) usage() policy.Usage {
	return policy.Usage{VMs: 1, CPU: z.cpu, Memory: z.memory, Storage: z.storage()}
}

// described returns the size of a VM that vCenter does not show. The size comes from the VM's recorded revision, which can differ from that of spec. The result has only the disk if
// status does not describe that revision. It is zero for a clone whose intent was lost with status: the clone has no instance UUID, and its revision is a guess.
func (s *Snapshot) described(ordinal int32) size {
	for i := range s.Group.Status.VMs {
		if vm := &s.Group.Status.VMs[i]; vm.Ordinal == ordinal && (vm.MoRef != "" || vm.UUID != "") {
			for _, shape := range s.recordedShapes() {
				if shape.Recorded.Revision == vm.Revision {
					return shapeSize(shape.Recorded.VMShape).max(diskOf(vm))
				}
			}
			return diskOf(vm)
		}
	}
	return size{}
}

// becoming returns the largest size that a VM of this size with a change in flight can get. It is the size of the recorded update or, because spec can have been edited since, of an
// earlier unfinished update.
func (s *Snapshot) becoming(z size) size {
	r, is := s.Group.Status.Rollout, z
	if r == nil {
		return z
	}
	for _, shape := range plan.Believed(s.Group.Status.Revisions) {
		if revision := shape.Recorded.Revision; revision == r.Revision || slices.Contains(r.From, revision) {
			z = z.larger(is.max(shapeSize(shape.Recorded.VMShape)))
		}
	}
	return z
}

// existing returns the number of VMs of the group, by ordinal, including clones in flight: a copy of a VM does not count.
func (s *Snapshot) existing() int32 { return int32(len(s.sizes)) }

// taken returns the usage of existing VMs and clones in flight. Each VM counts with the larger of its size in vCenter and the admitted size, or the size in spec without an
// admitted one. A VM that leaves counts until it is deleted, and a released one as long as it carries the release mark.
func (s *Snapshot) taken() policy.Usage {
	shape := s.Group.Spec
	if a := s.Admitted; shaped(a) {
		shape = policy.AdmittedSpec(shape, *a)
	}
	return s.counted(&shape)
}

// stands returns the usage of existing VMs by their size in vCenter.
func (s *Snapshot) stands() policy.Usage { return s.counted(&v1alpha1.VmGroupSpec{}) }

// counted adds up all VMs that count, those that do not leave each at least of the size in spec.
func (s *Snapshot) counted(spec *v1alpha1.VmGroupSpec) policy.Usage {
	u := s.live(spec).Add(sum(s.leaving)).Add(sum(s.released))
	if u.VMs > 0 {
		u.Groups = 1
	}
	return u
}

// sum adds up VMs.
func sum(sizes []size) (u policy.Usage) {
	for _, z := range sizes {
		u = u.Add(z.usage())
	}
	return u
}

// explainOthers adds to quota violations that VMs which leave or were released also count.
func (s *Snapshot) explainOthers(refused []policy.Violation) []policy.Violation {
	var why string
	if n := len(s.leaving); n > 0 {
		why = fmt.Sprintf(" (%d VMs that this group removes count until they are deleted; then the quota is checked again)", n)
	}
	if n := len(s.released); n > 0 {
		why += fmt.Sprintf(" (%d VMs that this group retained count until they are deleted, or a hub administrator removes %s from them)", n, vsphere.ReleaseKey)
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

// Leaves returns the usage that stays charged after the deletion of the group: the VMs that it released or keeps, and no group. For a lost vCenter it is zero.
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

// Remains returns the remaining usage in vCenter of a deleted group: its VMs, and those that it released.
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

// wants returns the maximum usage of the group until it matches spec: existing VMs keep their size, and new VMs get the size in spec. New VMs exist in addition to those that
// leave, except during an update.
func (s *Snapshot) wants() policy.Usage {
	if len(s.updates().From) == 0 {
		return s.wantsWith(s.amounts(), policy.UsageOf(s.Group.Spec).VMs).Add(sum(s.leaving))
	}
	return s.updating(s.withLeaving(), 0)
}

// surges returns the maximum usages of the group during an update, with one VM more than it wants, with two more, and so on.
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

// updating returns the maximum usage of the group during an update, with more VMs above spec. An update clones no VM beyond that: a VM that leaves counts until its deletion, and
// its successor waits for the room. Existing surplus VMs stay for a while during the growth of others, or grow themselves. A hidden VM possibly still exists.
func (s *Snapshot) updating(sizes amounts, more int64) policy.Usage {
	there := int64(s.existing()) + int64(len(s.leaving)) + int64(len(s.hidden()))
	return s.wantsWith(sizes, max(there, policy.UsageOf(s.Group.Spec).VMs+more))
}

// withLeaving returns the amounts of all VMs that can exist at the same time during an update. The successor of a leaving VM takes its room and has the size in spec.
func (s *Snapshot) withLeaving() amounts {
	a := s.amounts()
	for _, z := range s.leaving {
		a.add(z, true)
	}
	for _, ordinal := range s.hidden() {
		if slices.Contains(s.Group.Status.Deleting, ordinal) {
			a.add(s.described(ordinal), true)
		}
	}
	a.sort()
	return a
}

// hidden returns the ordinals of VMs in status that vCenter neither shows nor has confirmed as deleted.
func (s *Snapshot) hidden() (ordinals []int32) {
	for i := range s.Group.Status.VMs {
		vm := &s.Group.Status.VMs[i]
		if _, there := s.sizes[vm.Ordinal]; !there && s.outOfSight(*vm) {
			ordinals = append(ordinals, vm.Ordinal)
		}
	}
	return ordinals
}

// amounts are the CPUs, memories and disks of VMs, the largest first.
type amounts struct {
	cpus, memories, disks []int64
	least                 size
}

func (a *amounts) add(z size, replaced bool) {
	z = z.becomes(a.least, replaced)
	a.cpus, a.memories, a.disks = append(a.cpus, z.cpu), append(a.memories, z.memory), append(a.disks, z.storage())
}

// amounts returns those of the VMs that exist, are out of sight, or return in their revision, each at least of the size in spec. As long as no VM of spec's revision has been ready, an update
// replaces lost VMs with older ones.
func (s *Snapshot) amounts() amounts {
	n := len(s.sizes) + len(s.Group.Status.VMs)
	a := amounts{make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n), asked(s.Group.Spec)}
	replaced := s.replacedBy(&s.Group.Spec)
	for ordinal, z := range s.sizes {
		a.add(z, replaced[ordinal])
	}
	for i := range s.Group.Status.VMs {
		vm := &s.Group.Status.VMs[i]
		if _, there := s.sizes[vm.Ordinal]; there || slices.Contains(s.Group.Status.Deleting, vm.Ordinal) {
			continue
		}
		unseen := s.outOfSight(*vm)
		if old := s.old(vm.Revision); old != nil {
			z := asked(old.Spec)
			if unseen {
				z = z.max(diskOf(vm))
			}
			a.add(z, replaced[vm.Ordinal])
		} else if unseen { // an adopted VM has a size of its own
			a.add(s.described(vm.Ordinal), replaced[vm.Ordinal])
		}
	}
	if largest, left := s.older(); left > 0 {
		for range min(policy.UsageOf(s.Group.Spec).VMs, mostReplicas) - left {
			a.add(largest, false)
		}
	}
	a.sort()
	return a
}

func (a *amounts) sort() {
	descending := func(a, b int64) int { return cmp.Compare(b, a) }
	slices.SortFunc(a.cpus, descending)
	slices.SortFunc(a.memories, descending)
	slices.SortFunc(a.disks, descending)
}

// mostReplicas is the maximum number of VMs of a group: if a group asks for more, no VM is cloned.
const mostReplicas = 500

// older returns the largest size that a VM cloned in a shape that VMs are updated from has until the end of the update, and the number of such VMs, including clones in flight: as long as there is one, and no VM of spec's
// revision is available, a missing VM can be cloned in that shape.
func (s *Snapshot) older() (largest size, left int64) {
	update := s.updates()
	from := update.From
	if u := s.Group.Spec.UpdateStrategy; len(from) == 0 || u != nil && u.Type == v1alpha1.UpdateOnDelete || s.proven(update.Revision) {
		return size{}, 0
	}
	for i := range s.Old {
		if slices.Contains(from, s.Old[i].Recorded.Revision) {
			largest = largest.larger(asked(s.Old[i].Spec).max(asked(s.Group.Spec)))
		}
	}
	there := map[int32]bool{}
	for i := range s.Observation.VMs {
		if vm := &s.Observation.VMs[i]; s.stamped(*vm) && !vm.Tombstone && slices.Contains(from, vm.Stamp.Revision) {
			there[vm.Stamp.Ordinal] = true
		}
	}
	for _, op := range s.Observation.InFlight {
		if op.Kind == vsphere.OpClone && slices.ContainsFunc(s.Group.Status.VMs, func(vm v1alpha1.VMStatus) bool {
			return vm.Ordinal == op.Ordinal && slices.Contains(from, vm.Revision)
		}) {
			there[op.Ordinal] = true
		}
	}
	return largest, int64(len(there))
}

// proven reports whether a VM of a revision is available, by status, and still exists.
func (s *Snapshot) proven(revision string) bool {
	least := time.Duration(0)
	if r := s.Group.Spec.Readiness; r != nil {
		least = time.Duration(r.MinReadySeconds) * time.Second
	}
	return slices.ContainsFunc(s.Group.Status.VMs, func(vm v1alpha1.VMStatus) bool {
		_, there := s.sizes[vm.Ordinal]
		return there && vm.Revision == revision && vm.Phase == v1alpha1.VMReady && vm.ReadySince != nil && !s.Now.Before(vm.ReadySince.Add(least))
	})
}

// wantsWith returns the usage of the group with this number of VMs, plus its released VMs.
func (s *Snapshot) wantsWith(a amounts, vms int64) policy.Usage {
	wants := policy.UsageOf(s.Group.Spec)
	wants.VMs = vms
	wants.CPU, wants.Memory, wants.Storage = largest(a.cpus, vms, a.least.cpu), largest(a.memories, vms, a.least.memory), largest(a.disks, vms, a.least.storage())
	return wants.Add(sum(s.released))
}

// largest adds up the n largest amounts, which come first. If there are fewer than n, each missing one counts as others. The user chooses the VMs that leave, so the largest ones
// can stay.
func largest(amounts []int64, n, others int64) int64 {
	total := max(0, n-int64(len(amounts))) * others
	for _, amount := range amounts[:min(int(n), len(amounts))] {
		total += amount
	}
	return total
}

// live adds up the VMs that are not about to leave, each at least of the size in spec.
func (s *Snapshot) live(spec *v1alpha1.VmGroupSpec) (u policy.Usage) {
	least, replaced := asked(*spec), s.replacedBy(spec)
	for ordinal, z := range s.sizes {
		u = u.Add(z.becomes(least, replaced[ordinal]).usage())
	}
	return u
}

// becomes returns the size that a VM counts with, if spec asks for the other size. A VM that is replaced does not get the disks of spec beside its own.
func (z size) becomes(asked size, replaced bool) size {
	if replaced {
		return z.larger(asked)
	}
	return z.max(asked)
}

// replacedBy returns the ordinals of the VMs that VMs of spec replace, because spec differs from their shape in more than can change in place. A VM of unknown shape is not among
// them: its shape can become known. It returns nil if spec has no data disks: then it makes no difference.
func (s *Snapshot) replacedBy(spec *v1alpha1.VmGroupSpec) map[int32]bool {
	if len(spec.Shape().DataDisks()) == 0 {
		return nil
	}
	has := map[int32]string{}
	for i := range s.Group.Status.VMs {
		has[s.Group.Status.VMs[i].Ordinal] = s.Group.Status.VMs[i].Revision
	}
	for i := range s.Observation.VMs {
		if vm := &s.Observation.VMs[i]; s.stamped(*vm) {
			has[vm.Stamp.Ordinal] = vm.Stamp.Revision
		}
	}
	replaced, shapes := map[int32]bool{}, s.knownShapes()
	for ordinal, revision := range has {
		at := slices.IndexFunc(shapes, func(shape plan.Shape) bool { return shape.Recorded.Revision == revision })
		replaced[ordinal] = at >= 0 && !plan.InPlaceAs(spec, shapes[at].Recorded, s.Names.Template.CoresPerSocket, s.Names.KeepsNetwork()).Possible()
	}
	return replaced
}
