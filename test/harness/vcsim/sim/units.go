package sim

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// scsiReserved is the unit of a SCSI controller itself.
const scsiReserved = 7

// placeDisks gives the disks that a request adds the keys that vCenter derives from bus and unit, whatever key the request states. It refuses a unit that does not exist or that
// another disk has.
func placeDisks(has object.VirtualDeviceList, changes []types.BaseVirtualDeviceConfigSpec) types.BaseMethodFault {
	devices := slices.Clone(has)
	for i, c := range changes {
		change := c.GetVirtualDeviceConfigSpec()
		disk, isDisk := change.Device.(*types.VirtualDisk)
		if change.Operation != types.VirtualDeviceConfigSpecOperationAdd || !isDisk || disk.UnitNumber == nil {
			if change.Operation == types.VirtualDeviceConfigSpecOperationAdd {
				devices = append(devices, change.Device)
			}
			continue
		}
		bus, first, units := busOf(devices.FindByKey(disk.ControllerKey))
		if units == 0 {
			continue // of another kind, or one that vCenter chooses
		}
		taken := slices.ContainsFunc(devices, func(d types.BaseVirtualDevice) bool {
			is := d.GetVirtualDevice()
			return is.ControllerKey == disk.ControllerKey && is.UnitNumber != nil && *is.UnitNumber == *disk.UnitNumber
		})
		if unit := *disk.UnitNumber; taken || unit < 0 || unit >= units || first == firstDiskKey && unit == scsiReserved {
			return &types.InvalidDeviceSpec{InvalidVmConfig: types.InvalidVmConfig{Property: "unitNumber"}, DeviceIndex: int32(i)}
		}
		disk.Key = first + bus*units + *disk.UnitNumber
		devices = append(devices, disk)
	}
	return nil
}

// checkHardware refuses a clone whose sockets or added disks are not possible.
func checkHardware(cloned types.VirtualHardware, config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	if fault := checkSockets(cloned, config); fault != nil {
		return fault
	}
	return placeDisks(cloned.Device, config.DeviceChange)
}

// Numbers of units, and the key of the first disk of IDE controllers. A paravirtual SCSI controller of a recent hardware version has 64 units, and the keys of the further ones are
// not documented.
const (
	scsiUnits, ideUnits = 16, 2
	firstIDEKey         = 3000
)

// busOf returns the bus of a SCSI or IDE controller, the key of the first disk at bus 0, and the number of units. There are none for other controllers.
func busOf(controller types.BaseVirtualDevice) (bus, firstKey, units int32) {
	switch c := controller.(type) {
	case types.BaseVirtualSCSIController:
		return c.GetVirtualSCSIController().BusNumber, firstDiskKey, scsiUnits
	case *types.VirtualIDEController:
		return c.BusNumber, firstIDEKey, ideUnits
	}
	return 0, 0, 0
}
