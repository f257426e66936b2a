package group

import (
	"fmt"
	"iter"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// derived returns shapes of adopted VMs that are not recorded, because the VMs were just adopted or because status was lost. Such a shape differs from spec, or from a recorded
// shape, only in size. A VM shows the size, and its revision proves the rest.
func (s *Snapshot) derived(recorded []plan.Shape) (derived []plan.Shape) {
	var known, tried map[string]bool
	for i := range s.Observation.VMs {
		vm := &s.Observation.VMs[i]
		if !s.stamped(*vm) || vm.Stamp.Revision == s.Revision {
			continue
		}
		if known == nil { // the VMs of most groups have the revision of spec
			known, tried = map[string]bool{}, map[string]bool{}
			for _, shape := range recorded {
				known[shape.Recorded.Revision] = true
			}
		}
		if known[vm.Stamp.Revision] {
			continue
		}
		attempt := fmt.Sprint(vm.Stamp.Revision, vm.CPU, vm.MemoryMiB, vm.HotAdd.CoresPerSocket, vm.RootDiskGiB, sizeOf(vm).data)
		if tried[attempt] {
			continue
		}
		tried[attempt] = true
		for _, like := range append([]plan.Shape{{Recorded: plan.ShapeOf(s.Group.Spec)}}, recorded...) {
			if shape, is := shownBy(vm, like.Recorded); is {
				known[shape.Revision], derived = true, append(derived, plan.Shape{Recorded: shape, Adopted: true})
				break
			}
		}
	}
	return derived
}

// shownBy returns the shape whose revision a VM has, if it differs from another one only in what a VM shows. A VM with a disk that a person or an earlier spec made larger, or with a
// data disk of an earlier spec, shows other disks than its shape has.
func shownBy(vm *vsphere.VM, like v1alpha1.Revision) (shape v1alpha1.Revision, is bool) {
	var shown *v1alpha1.RootDisk
	if vm.RootDiskGiB != 0 {
		shown = &v1alpha1.RootDisk{SizeGiB: vm.RootDiskGiB}
	}
	var wanted *v1alpha1.RootDisk
	if like.Disks != nil {
		wanted = like.Disks.Root
	}
	shape = sizedAs(like, vm)
	roots := []*v1alpha1.RootDisk{wanted}
	if vm.RootDiskGiB != like.RootDiskGiB() {
		roots = append(roots, shown)
	}
	for _, root := range roots {
		for data := range dataShownBy(vm, like) {
			shape.Disks = disksWith(root, data)
			if shape = plan.Named(shape); shape.Revision == vm.Stamp.Revision {
				return shape, true
			}
		}
	}
	return shape, false
}

// eachDisk is the largest number of data disks of which each is tried in all ways: three disks have at most 343 combinations.
const eachDisk = 3

// dataShownBy yields the lists of data disks that the shape of a VM can have, the most likely first. If the VM has many data disks, the shape has all those that another shape names
// in the same way, and all others in the same way.
func dataShownBy(vm *vsphere.VM, like v1alpha1.Revision) iter.Seq[[]v1alpha1.DataDisk] {
	return func(yield func([]v1alpha1.DataDisk) bool) {
		has, _ := plan.DataDisksOf(vm)
		wanted := like.DataDisks()
		ways, place := make([][]*v1alpha1.DataDisk, len(has)), make([]int, len(has))
		options := make([]int, max(len(has), 2))
		combinations := 1
		for i, d := range has {
			at := slices.IndexFunc(wanted, func(w v1alpha1.DataDisk) bool { return w.Name == d.Name })
			if place[i] = i; len(has) > eachDisk {
				place[i] = min(at+1, 1)
			}
			ways[i] = waysOf(d, wanted, at)
			if options[place[i]] == 0 {
				options[place[i]] = len(ways[i])
				combinations *= len(ways[i])
			}
		}
		for n := range combinations {
			chosen, rest := make([]int, len(options)), n
			for p, of := range options {
				if of > 0 {
					chosen[p], rest = rest%of, rest/of
				}
			}
			var data []v1alpha1.DataDisk
			for i := range has {
				if d := ways[i][chosen[place[i]]]; d != nil {
					data = append(data, *d)
				}
			}
			if !yield(data) {
				return
			}
		}
	}
}

// waysOf returns what the shape of a VM can have of a data disk that the VM has, the most likely first. The shape can lack the disk, which stays when it is removed from spec. The
// disk can be larger than in the shape. The VM does not show how the disk was provisioned.
func waysOf(d v1alpha1.VMDisk, wanted []v1alpha1.DataDisk, at int) (ways []*v1alpha1.DataDisk) {
	if at >= 0 {
		ways = append(ways, &v1alpha1.DataDisk{Name: d.Name, SizeGiB: d.SizeGiB, Provisioning: wanted[at].Provisioning}, &wanted[at])
	}
	ways = append(ways, nil)
	for _, p := range []v1alpha1.Provisioning{"", v1alpha1.ProvisionThin, v1alpha1.ProvisionThick, v1alpha1.ProvisionEagerlyZeroed} {
		ways = append(ways, &v1alpha1.DataDisk{Name: d.Name, SizeGiB: d.SizeGiB, Provisioning: p})
	}
	return ways
}

// disksWith returns the disks of a shape, or nil if it states none.
func disksWith(root *v1alpha1.RootDisk, data []v1alpha1.DataDisk) *v1alpha1.Disks {
	if root == nil && len(data) == 0 {
		return nil
	}
	return &v1alpha1.Disks{Root: root, Data: data}
}

// sizedAs returns a shape with the CPUs, memory, sockets and data disks of a VM. Of the data disks, it has those that the shape names.
func sizedAs(shape v1alpha1.Revision, vm *vsphere.VM) v1alpha1.Revision {
	shape.CPU, shape.Memory = vm.CPU, int32(sizeOf(vm).memory)
	if shape.CoresPerSocket != 0 {
		shape.CoresPerSocket = vm.HotAdd.CoresPerSocket
	}
	if shape.Disks != nil {
		for data := range dataShownBy(vm, shape) {
			shape.Disks = disksWith(shape.Disks.Root, data)
			break
		}
	}
	return plan.Named(shape)
}
