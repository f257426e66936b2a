package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// grownDisks are the edits of disks in a configuration.
func grownDisks(changes []types.BaseVirtualDeviceConfigSpec) (out []*types.VirtualDisk) {
	for _, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		if disk, ok := change.Device.(*types.VirtualDisk); ok && change.Operation == types.VirtualDeviceConfigSpecOperationEdit {
			out = append(out, disk)
		}
	}
	return out
}

// checkGrowth refuses larger disks that vCenter does not grow: those of a VM with snapshots, those with a parent, and those on an IDE controller of a VM that is not off. vCenter
// refuses a smaller capacity, too. Its faults are not documented; this one stands for all of them. The caller holds the VM.
func checkGrowth(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
	for i, wanted := range grownDisks(spec.DeviceChange) {
		has, ok := devices.FindByKey(wanted.Key).(*types.VirtualDisk)
		if !ok {
			continue
		}
		_, ide := devices.FindByKey(has.ControllerKey).(*types.VirtualIDEController)
		switch {
		case wanted.CapacityInBytes < has.CapacityInBytes,
			wanted.CapacityInBytes > has.CapacityInBytes && (vm.Snapshot != nil || isChild(has) || ide && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff):
			return &types.InvalidDeviceOperation{InvalidDeviceSpec: types.InvalidDeviceSpec{DeviceIndex: int32(i)}, BadOp: types.VirtualDeviceConfigSpecOperationEdit}
		}
	}
	return nil
}

func isChild(disk *types.VirtualDisk) bool {
	b, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return ok && b.Parent != nil
}

// takeGrowth removes the edits of disks from the request for a clone, and checks them. The simulator would take the file of the source's disk from them.
func takeGrowth(source types.VirtualHardware, req *types.CloneVM_Task) ([]*types.VirtualDisk, types.BaseMethodFault) {
	grown := grownDisks(req.Spec.Config.DeviceChange)
	req.Spec.Config.DeviceChange = slices.DeleteFunc(req.Spec.Config.DeviceChange, func(c types.BaseVirtualDeviceConfigSpec) bool {
		return len(grownDisks([]types.BaseVirtualDeviceConfigSpec{c})) > 0
	})
	linked := req.Spec.Location.DiskMoveType == string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
	for i, wanted := range grown {
		has, ok := object.VirtualDeviceList(source.Device).FindByKey(wanted.Key).(*types.VirtualDisk)
		if !ok || linked || wanted.CapacityInBytes < has.CapacityInBytes {
			return nil, &types.InvalidDeviceOperation{InvalidDeviceSpec: types.InvalidDeviceSpec{DeviceIndex: int32(i)}, BadOp: types.VirtualDeviceConfigSpecOperationEdit}
		}
	}
	return grown, nil
}

// cloneDisks gives the disks of a new clone their capacity and, for a linked clone, their parents. The caller holds the clone and its source.
func cloneDisks(source, clone *simulator.VirtualMachine, req *types.CloneVM_Task, grown []*types.VirtualDisk) {
	has, devices := object.VirtualDeviceList(source.Config.Hardware.Device), object.VirtualDeviceList(clone.Config.Hardware.Device)
	for _, wanted := range grown {
		if disk, ok := devices.FindByKey(wanted.Key).(*types.VirtualDisk); ok {
			disk.CapacityInBytes, disk.CapacityInKB = wanted.CapacityInBytes, wanted.CapacityInBytes>>10
		}
	}
	if req.Spec.Snapshot == nil {
		return
	}
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		backing, ok := d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if from := has.FindByKey(d.GetVirtualDevice().Key); ok && from != nil {
			parent := types.VirtualDiskFlatVer2BackingInfo{}
			parent.FileName = fileOf(from)
			backing.Parent = &parent
		}
	}
}

// AddRootDisk gives a template a disk of this size, unless it has one.
func (o *Operator) AddRootDisk(ctx context.Context, path string, sizeGiB int32) error {
	return o.changeTemplate(ctx, path, func(devices object.VirtualDeviceList, spec *types.VirtualMachineConfigSpec) {
		disks := devices.SelectByType((*types.VirtualDisk)(nil))
		if len(disks) > 0 {
			return
		}
		scsi := &types.ParaVirtualSCSIController{}
		scsi.Key, scsi.SharedBus, scsi.ScsiCtlrUnitNumber = scsiKey, types.VirtualSCSISharingNoSharing, 7
		disk := devices.CreateDisk(scsi, types.ManagedObjectReference{}, "")
		unit := int32(0)
		disk.Key, disk.UnitNumber, disk.CapacityInBytes, disk.CapacityInKB = firstDiskKey, &unit, int64(sizeGiB)<<30, int64(sizeGiB)<<20
		spec.DeviceChange = []types.BaseVirtualDeviceConfigSpec{
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: scsi},
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate},
		}
	})
}

// AddIDERootDisk gives a template without disks one of this size on its first IDE controller.
func (o *Operator) AddIDERootDisk(ctx context.Context, path string, sizeGiB int32) error {
	return o.changeTemplate(ctx, path, func(devices object.VirtualDeviceList, spec *types.VirtualMachineConfigSpec) {
		disk := devices.CreateDisk(devices.SelectByType((*types.VirtualIDEController)(nil))[0].(types.BaseVirtualController), types.ManagedObjectReference{}, "")
		unit := int32(0)
		disk.UnitNumber, disk.CapacityInBytes, disk.CapacityInKB = &unit, int64(sizeGiB)<<30, int64(sizeGiB)<<20
		spec.DeviceChange = []types.BaseVirtualDeviceConfigSpec{
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate},
		}
	})
}

// RootDiskGiB returns the capacity of a VM's first disk in whole GiB.
func (o *Operator) RootDiskGiB(ctx context.Context, vmPath string) (int32, error) {
	disks, err := o.Disks(ctx, vmPath)
	if err != nil {
		return 0, err
	}
	if len(disks) == 0 {
		return 0, fmt.Errorf("%s has no disk", vmPath)
	}
	return int32(disks[0].CapacityInBytes >> 30), nil
}

// RemoveSnapshots removes all snapshots of a VM.
func (o *Operator) RemoveSnapshots(ctx context.Context, vmPath string) error {
	return o.change(ctx, "remove the snapshots of", vmPath, func(vm *object.VirtualMachine) (*object.Task, error) { return vm.RemoveAllSnapshot(ctx, nil) })
}

// ChangeDevices changes the devices of a VM.
func (o *Operator) ChangeDevices(ctx context.Context, vmPath string, edit func(object.VirtualDeviceList) []types.BaseVirtualDeviceConfigSpec) error {
	vm, devices, err := o.devices(ctx, vmPath)
	if err != nil {
		return err
	}
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: edit(devices)})
	return wait(ctx, "change the devices of "+vmPath, task, err)
}

// MoveToIDE moves the first disk of a powered-off VM to its IDE controller.
func (o *Operator) MoveToIDE(ctx context.Context, vmPath string) error {
	return o.ChangeDevices(ctx, vmPath, func(devices object.VirtualDeviceList) []types.BaseVirtualDeviceConfigSpec {
		disk := devices.SelectByType((*types.VirtualDisk)(nil))[0]
		ide := devices.SelectByType((*types.VirtualIDEController)(nil))[0].GetVirtualDevice()
		unit := int32(0)
		disk.GetVirtualDevice().ControllerKey, disk.GetVirtualDevice().UnitNumber = ide.Key, &unit
		return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk}}
	})
}
