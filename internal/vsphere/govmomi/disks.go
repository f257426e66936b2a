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
