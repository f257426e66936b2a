package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAddedDisksGetTheKeysOfTheirUnits(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.AddDisk(h.ctx, ordinary, "", "")) // with a controller, at unit 0
	add := func(unit int32) error {
		return h.ChangeDevices(h.ctx, ordinary, func(devices object.VirtualDeviceList) []types.BaseVirtualDeviceConfigSpec {
			scsi := devices.SelectByType((*types.VirtualSCSIController)(nil))[0].(types.BaseVirtualController)
			disk := devices.CreateDisk(scsi, types.ManagedObjectReference{}, "")
			disk.Key, disk.UnitNumber, disk.CapacityInBytes, disk.CapacityInKB = -5, &unit, 1<<20, 1<<10
			return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
				Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: disk, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			}}
		})
	}
	must(t, add(3))
	for _, unit := range []int32{3, 7, 16, -1} {
		if err := add(unit); !fault.Is(err, &types.InvalidDeviceSpec{}) {
			t.Errorf("unit %d: %v", unit, err)
		}
	}
	disks, err := h.Disks(h.ctx, ordinary)
	must(t, err)
	if len(disks) != 2 || disks[0].Key != 2000 || disks[1].Key != 2003 {
		t.Errorf("the disks are %+v", disks)
	}
}
