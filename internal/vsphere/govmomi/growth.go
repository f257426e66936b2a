package govmomi

import (
	"errors"
	"fmt"
	"slices"

	govc "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

var (
	errNoRootDisk = errors.New("the VM no longer has the disk that it got from its template; attach it again, or delete the VM, so that it is cloned anew")
	errDiskOnIDE  = errors.New("the root disk is on an IDE controller, whose disks grow only while the VM is off")
	errNoDisk     = errors.New("the template has no disk that could have the wanted size")
)

// propSnapshots are all snapshots of a VM.
const propSnapshots = "snapshot"

// growthProperties are the properties that decide whether a VM's disk can grow.
var growthProperties = []string{propSnapshots, propPower, extraConfigPath(inventory.KeyDisks)}

// growTo returns the edit that gives a disk a capacity.
func growTo(disk *types.VirtualDisk, sizeGiB int32) *types.VirtualDeviceConfigSpec {
	grown := *disk
	grown.CapacityInBytes = int64(sizeGiB) << 30
	grown.CapacityInKB = grown.CapacityInBytes >> 10
	return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &grown}
}

// capacity returns the capacity of a disk in bytes. Old versions of vCenter report KiB only.
func capacity(disk *types.VirtualDisk) int64 { return max(disk.CapacityInBytes, disk.CapacityInKB<<10) }

// cloneDisk returns the edit for a clone with a larger root disk, or nil if the template's disk has that size.
func (h hardware) cloneDisk(sizeGiB int32) (*types.VirtualDeviceConfigSpec, error) {
	switch wanted := int64(sizeGiB) << 30; {
	case h.root == nil:
		return nil, errNoDisk
	case wanted < capacity(h.root):
		return nil, fmt.Errorf("the first disk of the template has %d bytes, and a clone cannot have less", capacity(h.root))
	case wanted == capacity(h.root):
		return nil, nil
	}
	return growTo(h.root, sizeGiB), nil
}

// growRoot returns the edit that grows the root disk of a VM, or nil if the disk has the size. It decides by what vCenter shows, because vCenter names no cause when it refuses. A
// disk that a user attached is never changed.
func growRoot(o object, t vsphere.Reconfiguration, linked bool, refuse func(vsphere.Kind, error) error) (*types.VirtualDeviceConfigSpec, error) {
	devices, ok := devicesOf(o)
	if !ok {
		return nil, refuse(vsphere.KindTransient, errUnreadConfig)
	}
	blocked := func(blocker, remedy string) error {
		return refuse(vsphere.KindGrowthBlocked, &vsphere.GrowthBlocked{SizeGiB: t.RootDiskGiB, Blocker: blocker, Remedy: remedy, ChangeVersion: t.ChangeVersion})
	}
	disk, certain := ownRoot(o, devices)
	switch {
	case !certain:
		return nil, blocked("the VM was adopted with several disks, and the operator does not know which is the root disk",
			"Remove spec.disks unless a quota limits storage, or set spec.updateStrategy.replaceTrigger to a new value to have the VM replaced; its data is lost")
	case disk == nil:
		return nil, refuse(vsphere.KindSpec, errNoRootDisk)
	case capacity(disk) >= int64(t.RootDiskGiB)<<30:
		return nil, nil
	}
	_, onIDE := devices.FindByKey(disk.ControllerKey).(*types.VirtualIDEController)
	switch snapshots := snapshotsOf(o); {
	case len(snapshots) > 0:
		return nil, blocked("it has "+named(snapshots), "Remove the snapshots in vCenter")
	case isChild(disk) && linked:
		return nil, blocked("the VM is a linked clone, which shares its disk with the template", "Set spec.updateStrategy.replaceTrigger to a new value to have it replaced by a full clone; its data is lost")
	case isChild(disk):
		return nil, blocked("its files still have a part from a removed snapshot", "Consolidate the disks of the VM in vCenter")
	case onIDE && power(o.text(propPower)) != vsphere.PoweredOff:
		return nil, refuse(vsphere.KindOffOnly, errDiskOnIDE)
	}
	return growTo(disk, t.RootDiskGiB), nil
}

// ownRoot returns the first disk that a VM got from its template, or nil. The stamp has the keys of these disks; an adopted VM has none, and its first disk counts. A First Class
// Disk belongs to a storage driver, also at the unit of a disk that was detached. certain is false for an adopted VM with several disks.
func ownRoot(o object, devices govc.VirtualDeviceList) (root *types.VirtualDisk, certain bool) {
	own, known := inventory.DecodeDisks(extraValue(o, extraConfigPath(inventory.KeyDisks)))
	if known && len(own) == 0 {
		return nil, true
	}
	candidates := 0
	for _, disk := range virtualDisks(devices) {
		if firstClass := disk.VDiskId != nil && disk.VDiskId.Id != ""; firstClass || known && disk.Key != slices.Min(own) {
			continue
		}
		if candidates++; root == nil || disk.Key < root.Key {
			root = disk
		}
	}
	return root, known || candidates < 2
}

// isChild reports whether a disk depends on another one: that of a template, or that before a snapshot.
func isChild(disk *types.VirtualDisk) bool {
	switch b := disk.Backing.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		return b.Parent != nil
	case *types.VirtualDiskSeSparseBackingInfo:
		return b.Parent != nil
	case *types.VirtualDiskSparseVer2BackingInfo:
		return b.Parent != nil
	}
	return false
}

// snapshotsOf returns the names of a VM's snapshots.
func snapshotsOf(o object) []string {
	info, _ := o.values[propSnapshots].(types.VirtualMachineSnapshotInfo)
	return namesOf(info.RootSnapshotList)
}

func namesOf(snapshots []types.VirtualMachineSnapshotTree) (names []string) {
	for i := range snapshots {
		names = append(append(names, snapshots[i].Name), namesOf(snapshots[i].ChildSnapshotList)...)
	}
	return names
}

func named(snapshots []string) string {
	first := "snapshot " + untrusted.Name(snapshots[0])
	if len(snapshots) == 1 {
		return first
	}
	return fmt.Sprintf("%s and %d more", first, len(snapshots)-1)
}
