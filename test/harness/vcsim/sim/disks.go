package sim

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// scsiKey is the key of a VM's first SCSI controller, and firstDiskKey is the key of the disk at its first unit. vCenter derives a
	// disk's key from the controller's bus and the unit.
	scsiKey      = 1000
	firstDiskKey = 2000
	diskBytes    = 1 << 20
)

// AddDisk creates a disk and attaches it to a VM at the first free unit. The disk is in the named file ("[LocalDS_0] fcd/a.vmdk"), or
// beside the VM's own if file is empty. With an ID it is a First Class Disk.
func (o *Operator) AddDisk(ctx context.Context, vmPath, file, firstClass string) error {
	vm, devices, err := o.devices(ctx, vmPath)
	if err != nil {
		return err
	}
	if err := o.makeDirectory(ctx, file); err != nil {
		return err
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	add := func(d types.BaseVirtualDevice, file types.VirtualDeviceConfigSpecFileOperation) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: d, FileOperation: file})
	}
	controller, ok := devices.FindByKey(scsiKey).(types.BaseVirtualController)
	if !ok {
		scsi := &types.ParaVirtualSCSIController{}
		scsi.Key, scsi.SharedBus, scsi.ScsiCtlrUnitNumber = scsiKey, types.VirtualSCSISharingNoSharing, 7
		controller = scsi
		add(scsi, "")
	}
	disk := devices.CreateDisk(controller, types.ManagedObjectReference{}, file)
	disk.Key = firstDiskKey + *disk.UnitNumber
	disk.CapacityInBytes, disk.CapacityInKB = diskBytes, diskBytes>>10
	if firstClass != "" {
		disk.VDiskId = &types.ID{Id: firstClass}
	}
	add(disk, types.VirtualDeviceConfigSpecFileOperationCreate)
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: changes})
	return wait(ctx, "attach a disk to "+vmPath, task, err)
}

// makeDirectory creates the directory of a file, if the file has one.
func (o *Operator) makeDirectory(ctx context.Context, file string) error {
	p := new(object.DatastorePath)
	if !p.FromString(file) {
		return nil
	}
	dc, err := o.finder.Datacenter(ctx, "/DC0")
	if err != nil {
		return fmt.Errorf("find the datacenter: %w", err)
	}
	p.Path = path.Dir(p.Path)
	if err := object.NewFileManager(o.Client()).MakeDirectory(ctx, p.String(), dc, true); err != nil && !fault.Is(err, &types.FileAlreadyExists{}) {
		return fmt.Errorf("make directory %s: %w", p, err)
	}
	return nil
}

// DetachDisk removes a disk from a VM and keeps its file.
func (o *Operator) DetachDisk(ctx context.Context, vmPath, file string) error {
	vm, devices, err := o.devices(ctx, vmPath)
	if err != nil {
		return err
	}
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		if fileOf(d) == file {
			if err := vm.RemoveDevice(ctx, true, d); err != nil {
				return fmt.Errorf("detach %s from %s: %w", file, vmPath, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%s has no disk %s", vmPath, file)
}

// Disks returns the disks of a VM.
func (o *Operator) Disks(ctx context.Context, vmPath string) ([]types.VirtualDisk, error) {
	_, devices, err := o.devices(ctx, vmPath)
	devices = devices.SelectByType((*types.VirtualDisk)(nil))
	disks := make([]types.VirtualDisk, 0, len(devices))
	for _, d := range devices {
		disks = append(disks, *d.(*types.VirtualDisk))
	}
	return disks, err
}

// HasFile reports whether a datastore has a file, for example "[LocalDS_0] fcd/a.vmdk".
func (o *Operator) HasFile(ctx context.Context, file string) (bool, error) {
	p := new(object.DatastorePath)
	if !p.FromString(file) {
		return false, fmt.Errorf("%q is no path of a datastore", file)
	}
	datastore, err := o.finder.Datastore(ctx, "/DC0/datastore/"+p.Datastore)
	if err != nil {
		return false, fmt.Errorf("find datastore %s: %w", p.Datastore, err)
	}
	_, err = datastore.Stat(ctx, p.Path)
	var (
		noFile      object.DatastoreNoSuchFileError
		noDirectory object.DatastoreNoSuchDirectoryError
	)
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &noFile), errors.As(err, &noDirectory):
		return false, nil
	}
	return false, fmt.Errorf("look for %s: %w", file, err)
}

func (o *Operator) devices(ctx context.Context, vmPath string) (*object.VirtualMachine, object.VirtualDeviceList, error) {
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return nil, nil, err
	}
	devices, err := vm.Device(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read the devices of %s: %w", vmPath, err)
	}
	return vm, devices, nil
}

func fileOf(d types.BaseVirtualDevice) string {
	if b, ok := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
		return b.GetVirtualDeviceFileBackingInfo().FileName
	}
	return ""
}
