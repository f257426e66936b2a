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
	errNoController  = errors.New("data disks are placed on the controller of the root disk, and there is none that vCenter shows")
	errTooManyDisks  = errors.New("the controller of the root disk has no free unit for another data disk. Remove disks from spec.disks.data. Or delete data disks that spec does not name any more in vCenter, and remove them from " + inventory.KeyDataDisks + " in the VM's configuration. Or set spec.updateStrategy.replaceTrigger to a new value to have the VM replaced; its data is lost")
	errDisksUnlisted = fmt.Errorf(`the VM's configuration has a list of data disks in %[1]s that the operator did not write. Correct it in vCenter: it has "v1;" and, for each data disk, <name>:<device key>:<GiB>, sorted by name, with commas. Without the list, the operator would create the disks again`, inventory.KeyDataDisks)
)

// Numbers of units of controllers, from the vSphere documentation ("Add a Hard Disk to a Virtual Machine"). A paravirtual SCSI controller can have more, but vCenter does not document
// the keys of the disks there.
const (
	scsiUnits, scsiReserved = 16, 7
	sataUnits               = 30
	nvmeUnits               = 15
	ideUnits                = 2
)

// slots are the units of a root disk's controller, on which data disks are placed.
type slots struct {
	controller int32
	// first is the key of a disk at unit 0: vCenter derives a key from controller and unit.
	first int32
	units int32
	taken []int32
}

// slotsOf returns the units of a root disk's controller. There are none if the controller is of an unknown kind.
func slotsOf(devices govc.VirtualDeviceList, root *types.VirtualDisk) slots {
	if root == nil || root.UnitNumber == nil {
		return slots{}
	}
	s := slots{controller: root.ControllerKey, first: root.Key - *root.UnitNumber}
	switch devices.FindByKey(root.ControllerKey).(type) {
	case types.BaseVirtualSCSIController:
		s.units, s.taken = scsiUnits, []int32{scsiReserved}
	case types.BaseVirtualSATAController:
		s.units = sataUnits
	case *types.VirtualNVMEController:
		s.units = nvmeUnits
	case *types.VirtualIDEController:
		s.units = ideUnits
	}
	if *root.UnitNumber >= s.units {
		return slots{}
	}
	for _, d := range devices {
		if is := d.GetVirtualDevice(); is.ControllerKey == s.controller && is.UnitNumber != nil {
			s.taken = append(s.taken, *is.UnitNumber)
		}
	}
	return s
}

// free returns the number of disks that can be added.
func (s slots) free() (n int) {
	for unit := range s.units {
		if !slices.Contains(s.taken, unit) {
			n++
		}
	}
	return n
}

// create returns the addition of a disk at the lowest free unit, and takes the unit.
func (s *slots) create(d vsphere.DataDisk) (*types.VirtualDeviceConfigSpec, vsphere.AttachedDisk, error) {
	if s.units == 0 {
		return nil, vsphere.AttachedDisk{}, errNoController
	}
	unit := int32(0)
	for slices.Contains(s.taken, unit) {
		unit++
	}
	if unit >= s.units {
		return nil, vsphere.AttachedDisk{}, fmt.Errorf("%w: %s", errTooManyDisks, d.Name)
	}
	s.taken = append(slices.Clone(s.taken), unit)
	backing := &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
	switch d.Provisioning {
	case vsphere.Thin:
		backing.ThinProvisioned = types.NewBool(true)
	case vsphere.Thick:
		backing.ThinProvisioned = types.NewBool(false)
	case vsphere.EagerlyZeroed:
		backing.ThinProvisioned, backing.EagerlyScrub = types.NewBool(false), types.NewBool(true)
	}
	disk := &types.VirtualDisk{CapacityInBytes: int64(d.SizeGiB) << 30, CapacityInKB: int64(d.SizeGiB) << 20}
	// vCenter replaces the key. Keys of additions in one request are different negative numbers.
	disk.Key, disk.ControllerKey, disk.UnitNumber, disk.Backing = -1-unit, s.controller, &unit, backing
	return &types.VirtualDeviceConfigSpec{
		Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: disk,
	}, vsphere.AttachedDisk{Name: d.Name, Key: s.first + unit, SizeGiB: d.SizeGiB}, nil
}

// showUUIDs is the entry of the configuration that lets the guest see the UUIDs of disks, after its next start. Guests give disks names in any order.
var showUUIDs = inventory.KV{Key: "disk.enableUUID", Value: "TRUE"}

// createDisks returns the additions of data disks to a clone, and the entries of its configuration.
func (h hardware) createDisks(wanted []vsphere.DataDisk) (changes []types.BaseVirtualDeviceConfigSpec, extra []inventory.KV, err error) {
	s := h.slots
	attached := make([]vsphere.AttachedDisk, 0, len(wanted))
	for _, d := range wanted {
		change, disk, err := s.create(d)
		if err != nil {
			return nil, nil, err
		}
		changes, attached = append(changes, change), append(attached, disk)
	}
	// Without data disks, this empties the list of a template that was made from a VM of the operator. Those disks are in the list of the template's disks.
	extra = []inventory.KV{{Key: inventory.KeyDataDisks, Value: string(vsphere.DataDisksOf(attached))}}
	if len(changes) > 0 {
		extra = append(extra, showUUIDs)
	}
	return changes, extra, nil
}

// dataDisks returns the changes that give a VM these data disks, and the entries of its configuration. It adds those that are not in the list and grows those that are smaller. A disk
// that a user detached stays detached: the operator does not know where its data is.
func (v *owned) dataDisks(wanted []vsphere.DataDisk) (changes []types.BaseVirtualDeviceConfigSpec, extra []inventory.KV, err error) {
	attached, known := dataDisksOf(v.object)
	if !known {
		return nil, nil, v.refuse(vsphere.KindSpec, errDisksUnlisted)
	}
	root, _ := v.root()
	adds := false
	free := slotsOf(v.devices, root)
	own, _ := inventory.DecodeDisks(extraValue(v.object, extraConfigPath(inventory.KeyDisks)))
	for _, d := range attached {
		own = append(own, d.Key)
	}
	for _, key := range own { // also the unit of a detached disk, which can be attached again
		free.taken = append(free.taken, key-free.first)
	}
	identify(attached, virtualDisks(v.devices))
	for _, d := range wanted {
		at := slices.IndexFunc(attached, func(a vsphere.AttachedDisk) bool { return a.Name == d.Name })
		if at < 0 {
			if d.Had {
				return nil, nil, v.refuse(vsphere.KindSpec, fmt.Errorf("%s in the VM's configuration does not list data disk %s, which the VM got. Correct the list in vCenter: \"v1;\" and, for each data disk, <name>:<device key>:<GiB>, sorted by name, with commas. For an empty disk instead, remove this one from spec.disks.data, and add it again", inventory.KeyDataDisks, untrusted.Name(d.Name)))
			}
			change, disk, err := free.create(d)
			if err != nil {
				return nil, nil, v.refuse(vsphere.KindSpec, err)
			}
			v.changes(free.controller)
			changes, attached, adds = append(changes, change), append(attached, disk), true
			continue
		}
		disk := listed(virtualDisks(v.devices), attached, attached[at])
		if disk == nil {
			return nil, nil, v.refuse(vsphere.KindSpec, fmt.Errorf("data disk %s was detached from the VM, or another disk is in its place; attach it again, or remove it from spec.disks.data. For an empty disk instead, also remove it from %s in the VM's configuration, and then add it to spec.disks.data again. If it is attached, for example with another UUID after a restore, remove the last part of its entry there, the UUID or the word detached", untrusted.Name(d.Name), inventory.KeyDataDisks))
		}
		change, err := v.grow(d.Name, disk, d.SizeGiB)
		if err != nil {
			return nil, nil, err
		}
		if change != nil {
			changes = append(changes, change)
		}
		attached[at].SizeGiB = max(attached[at].SizeGiB, d.SizeGiB)
	}
	list := vsphere.DataDisksOf(attached)
	if string(list) == extraValue(v.object, extraConfigPath(inventory.KeyDataDisks)) {
		return changes, nil, nil
	}
	extra = []inventory.KV{{Key: inventory.KeyDataDisks, Value: string(list)}}
	if adds {
		extra = append(extra, showUUIDs)
	}
	return changes, extra, nil
}
