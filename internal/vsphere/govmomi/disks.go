package govmomi

import (
	"errors"
	"slices"
	"strings"

	govc "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

var errDisksUnread = errors.New("vCenter did not show the VM's disks, which would be deleted with it")

// disks are the device keys of a template's or snapshot's disks. vCenter derives a key from controller and unit, and a clone's disks keep the
// keys of their sources.
type disks struct {
	keys  []int32
	known bool
}

func (d disks) encoded() inventory.KV { return inventory.EncodeDisks(d.keys, d.known) }

// holdForDisks refuses to destroy a VM with disks that are not its own, because vCenter deletes all attached disks. Those are First Class Disks,
// and disks added after the clone. The file of a disk proves nothing: Storage DRS moves it, vSAN gives it another directory, and a linked
// clone's parent disk never belongs to the VM.
func holdForDisks(o object, path string, t vsphere.Target, refuse func(vsphere.Kind, error) error) error {
	devices, ok := devicesOf(o)
	if !ok {
		return refuse(vsphere.KindTransient, errDisksUnread)
	}
	own, known := inventory.DecodeDisks(extraValue(o, extraConfigPath(inventory.KeyDisks)))
	created, _ := dataDisksOf(o)
	foreign := &vsphere.ForeignDisks{Path: path, ChangeVersion: t.ChangeVersion}
	for _, disk := range virtualDisks(devices) {
		firstClass := isFirstClass(disk)
		if !firstClass && (slices.ContainsFunc(created, func(d vsphere.AttachedDisk) bool { return isCreated(disk, d) }) ||
			(!known || slices.Contains(own, disk.Key)) && !inPlaceOf(disk, created)) {
			continue
		}
		d := vsphere.Disk{Device: devices.Name(disk)}
		if firstClass {
			d.FirstClassID = disk.VDiskId.Id
		}
		if disk.DeviceInfo != nil {
			d.Label = disk.DeviceInfo.GetDescription().Label
		}
		if file, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			d.File = file.GetVirtualDeviceFileBackingInfo().FileName
		}
		foreign.Disks = append(foreign.Disks, d)
	}
	if len(foreign.Disks) > 0 {
		return refuse(vsphere.KindForeignDisk, foreign)
	}
	return nil
}

// isFirstClass reports whether a storage driver manages the disk.
func isFirstClass(disk *types.VirtualDisk) bool { return disk.VDiskId != nil && disk.VDiskId.Id != "" }

// devicesOf returns the devices that were read, or false if vCenter did not show them.
func devicesOf(o object) (govc.VirtualDeviceList, bool) {
	devices, ok := o.values[propDevices].(types.ArrayOfVirtualDevice)
	return devices.VirtualDevice, ok
}

func virtualDisks(devices govc.VirtualDeviceList) []*types.VirtualDisk {
	var out []*types.VirtualDisk
	for _, d := range devices {
		if disk, ok := d.(*types.VirtualDisk); ok {
			out = append(out, disk)
		}
	}
	return out
}

// dataDisksOf returns the data disks that a VM's configuration lists. If the list is malformed, it has none: they are then disks of another user.
func dataDisksOf(o object) (disks []vsphere.AttachedDisk, known bool) {
	return vsphere.DataDisks(extraValue(o, extraConfigPath(inventory.KeyDataDisks))).Attached()
}

// isCreated reports whether a disk is the listed one. What is recorded in place of a UUID decides: a user can attach another disk where the listed one was, or move the listed one.
// Until something is recorded, or if vCenter showed no UUID, the key decides, except for a smaller disk: disks do not shrink.
func isCreated(disk *types.VirtualDisk, listed vsphere.AttachedDisk) bool {
	switch shown := uuidOf(disk); {
	case isFirstClass(disk):
		return false
	case vsphere.IsUUID(listed.UUID):
		return shown == listed.UUID
	case listed.UUID == vsphere.Detached, listed.UUID == vsphere.NoUUID && shown != vsphere.NoUUID:
		return false
	}
	return disk.Key == listed.Key && capacity(disk) >= int64(listed.SizeGiB)<<30
}

// inPlaceOf reports whether a disk has the key of a listed one that it is not. The key can also be that of a disk of the template, whose place the listed one took.
func inPlaceOf(disk *types.VirtualDisk, created []vsphere.AttachedDisk) bool {
	return slices.ContainsFunc(created, func(d vsphere.AttachedDisk) bool { return d.Key == disk.Key && !isCreated(disk, d) })
}

// listed returns the disk of an entry in the list of data disks, or nil. A disk whose UUID another entry has is not it, wherever a user moved that disk.
func listed(disks []*types.VirtualDisk, list []vsphere.AttachedDisk, entry vsphere.AttachedDisk) *types.VirtualDisk {
	at := slices.IndexFunc(disks, func(disk *types.VirtualDisk) bool {
		shown := uuidOf(disk)
		others := slices.ContainsFunc(list, func(other vsphere.AttachedDisk) bool { return other.Name != entry.Name && other.UUID == shown })
		return isCreated(disk, entry) && (shown == vsphere.NoUUID || !others)
	})
	if at < 0 {
		return nil
	}
	return disks[at]
}

// identify records the UUIDs of listed disks that were created since, and the keys of those that a user moved.
func identify(list []vsphere.AttachedDisk, disks []*types.VirtualDisk) {
	for i, entry := range list {
		switch disk := listed(disks, list, entry); {
		case disk != nil && entry.UUID == "":
			list[i].UUID = uuidOf(disk)
		case disk != nil:
			list[i].Key = disk.Key
		case entry.UUID == "": // it was detached before that
			list[i].UUID = vsphere.Detached
		}
	}
}

// uuidOf returns the UUID of a disk in the form in which it is recorded, or NoUUID.
func uuidOf(disk *types.VirtualDisk) string {
	shown := ""
	switch b := disk.Backing.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		shown = b.Uuid
	case *types.VirtualDiskSeSparseBackingInfo:
		shown = b.Uuid
	case *types.VirtualDiskSparseVer2BackingInfo:
		shown = b.Uuid
	case *types.VirtualDiskRawDiskMappingVer1BackingInfo:
		shown = b.Uuid
	case *types.VirtualDiskRawDiskVer2BackingInfo:
		shown = b.Uuid
	case *types.VirtualDiskPartitionedRawDiskVer2BackingInfo:
		shown = b.Uuid
	case *types.VirtualDiskLocalPMemBackingInfo:
		shown = b.Uuid
	}
	if shown = strings.ToLower(shown); vsphere.IsUUID(shown) {
		return shown
	}
	return vsphere.NoUUID
}
