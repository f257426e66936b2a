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
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var (
	errNoRootDisk = errors.New("the VM no longer has the disk that it got from its template; attach it again, or delete the VM, so that it is cloned anew")
	errDiskOnIDE  = errors.New("the disks are on an IDE controller, where vCenter changes and adds disks only while the VM is off")
	errNoDisk     = errors.New("the template has no disk that could have the wanted size")
)

// propSnapshots are all snapshots of a VM.
const propSnapshots = "snapshot"

// growthProperties are the properties that decide whether a VM's disk can grow.
var growthProperties = []string{propSnapshots, propPower, extraConfigPath(inventory.KeyDisks), extraConfigPath(inventory.KeyDataDisks)}

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

// owned is a VM whose disks change.
type owned struct {
	object
	devices govc.VirtualDeviceList
	// linked is true for a linked clone.
	linked bool
	// changeVersion is that of the observation behind the change.
	changeVersion string
	// needsOff is true once a change was decided for which the VM must be off. Whatever else prevents a change comes first: a VM is not stopped in vain.
	needsOff bool
	request  operations.Request
}

// refuse returns an error about the VM.
func (v *owned) refuse(kind vsphere.Kind, cause error) error {
	return &vsphere.Error{Kind: kind, Op: phrase(v.request), Object: v.request.VM, Err: cause}
}

func (v *owned) blocked(disk string, sizeGiB int32, blocker, remedy string) error {
	return v.refuse(vsphere.KindGrowthBlocked, &vsphere.GrowthBlocked{Disk: disk, SizeGiB: sizeGiB, Blocker: blocker, Remedy: remedy, ChangeVersion: v.changeVersion})
}

// growRoot returns the edit that grows the root disk of a VM, or nil if the disk has the size. A disk that a user attached is never changed.
func (v *owned) growRoot(sizeGiB int32) (*types.VirtualDeviceConfigSpec, error) {
	disk, certain := v.root()
	switch {
	case !certain:
		return nil, v.blocked("", sizeGiB, "the VM was adopted with several disks, and the operator does not know which is the root disk",
			"Remove spec.disks.root unless a quota limits storage, or set spec.updateStrategy.replaceTrigger to a new value to have the VM replaced; its data is lost")
	case disk == nil:
		return nil, v.refuse(vsphere.KindSpec, errNoRootDisk)
	}
	return v.grow("", disk, sizeGiB)
}

// grow returns the edit that grows a disk, or nil if the disk has the size. It decides by what vCenter shows, because vCenter names no cause when it refuses. name is empty for the
// root disk.
func (v *owned) grow(name string, disk *types.VirtualDisk, sizeGiB int32) (*types.VirtualDeviceConfigSpec, error) {
	if capacity(disk) >= int64(sizeGiB)<<30 {
		return nil, nil
	}
	switch snapshots := snapshotsOf(v.object); {
	case len(snapshots) > 0:
		return nil, v.blocked(name, sizeGiB, "it has "+named(snapshots), "Remove the snapshots in vCenter")
	case isChild(disk) && v.linked && name == "":
		return nil, v.blocked(name, sizeGiB, "the VM is a linked clone, which shares its disk with the template", "Set spec.updateStrategy.replaceTrigger to a new value to have it replaced by a full clone; its data is lost")
	case isChild(disk):
		return nil, v.blocked(name, sizeGiB, "its files still have a part from a removed snapshot", "Consolidate the disks of the VM in vCenter")
	}
	v.changes(disk.ControllerKey)
	return growTo(disk, sizeGiB), nil
}

// changes records that a disk of a controller changes or is added.
func (v *owned) changes(controller int32) {
	_, isIDE := v.devices.FindByKey(controller).(*types.VirtualIDEController)
	v.needsOff = v.needsOff || isIDE && power(v.text(propPower)) != vsphere.PoweredOff
}

// root returns the first disk that a VM got from its template, or nil. The stamp has the keys of these disks; an adopted VM has none, and its first disk counts. A First Class
// Disk belongs to a storage driver, also at the unit of a disk that was detached. certain is false for an adopted VM with several disks, without those that the operator created.
func (v *owned) root() (root *types.VirtualDisk, certain bool) {
	own, known := inventory.DecodeDisks(extraValue(v.object, extraConfigPath(inventory.KeyDisks)))
	if known && len(own) == 0 {
		return nil, true
	}
	created, _ := dataDisksOf(v.object)
	candidates := 0
	for _, disk := range virtualDisks(v.devices) {
		if isFirstClass(disk) || known && disk.Key != slices.Min(own) || slices.ContainsFunc(created, func(d vsphere.AttachedDisk) bool { return isCreated(disk, d) }) {
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
