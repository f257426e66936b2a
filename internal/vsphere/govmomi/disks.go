package govmomi

import (
	"errors"
	"slices"

	govc "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

var errDisksUnread = errors.New("vCenter did not show the VM's disks, which would be deleted with it")

// disks are the device keys of a template's disks, or of a snapshot's. vCenter makes a key of controller and unit, and gives a clone's disks the
// keys of its source's.
type disks struct {
	keys  []int32
	known bool
}

func (d disks) encoded() inventory.KV { return inventory.EncodeDisks(d.keys, d.known) }

// holdForDisks refuses to destroy a VM that has disks which are not its own: vCenter deletes all that are attached. Those are First Class
// Disks, and disks that the VM did not have after its clone. The file of a disk tells nothing: Storage DRS moves it, vSAN gives it another
// directory, and that of a linked clone's parent is somebody else's in any case.
func holdForDisks(o object, path string, t vsphere.Target, refuse func(vsphere.Kind, error) error) error {
	devices, ok := devicesOf(o)
	if !ok {
		return refuse(vsphere.KindTransient, errDisksUnread)
	}
	own, known := inventory.DecodeDisks(extraValue(o, extraConfigPath(inventory.KeyDisks)))
	foreign := &vsphere.ForeignDisks{Path: path, ChangeVersion: t.ChangeVersion}
	for _, disk := range virtualDisks(devices) {
		firstClass := disk.VDiskId != nil && disk.VDiskId.Id != ""
		if !firstClass && (!known || slices.Contains(own, disk.Key)) {
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

// devicesOf returns the devices that were read, or false if they were not shown.
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
