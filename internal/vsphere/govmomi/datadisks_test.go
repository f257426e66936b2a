package govmomi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

var data, logs = vsphere.DataDisk{Name: "data", SizeGiB: 3}, vsphere.DataDisk{Name: "logs", SizeGiB: 1}

// withData requests data disks of a VM, and returns the error of the request or of its task.
func (r *rig) withData(vm vsphere.VM, disks ...vsphere.DataDisk) error {
	r.t.Helper()
	if err := r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: "2-a", DataDisks: disks}); err != nil {
		return err
	}
	r.until("nothing is in flight", func() bool { return len(r.observe().InFlight) == 0 })
	for _, f := range r.observe().Failures {
		return f.Err
	}
	return nil
}

// changed changes the devices of a VM as a user of vCenter does, and returns the VM as it is then observed.
func (r *rig) changed(vm vsphere.VM, operation types.VirtualDeviceConfigSpecOperation, devices func(object.VirtualDeviceList) types.BaseVirtualDevice) vsphere.VM {
	r.t.Helper()
	must(r.t, r.person.ChangeDevices(r.ctx, vmPath+vm.Name, func(all object.VirtualDeviceList) []types.BaseVirtualDeviceConfigSpec {
		change := &types.VirtualDeviceConfigSpec{Operation: operation, Device: devices(all)}
		if operation == types.VirtualDeviceConfigSpecOperationAdd {
			change.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
		}
		return []types.BaseVirtualDeviceConfigSpec{change}
	}))
	r.until("the change is observed", func() bool { return r.settled(vm.Stamp.Ordinal).ChangeVersion != vm.ChangeVersion })
	return r.settled(vm.Stamp.Ordinal)
}

// attachedInPlace attaches another disk of 3 GiB where the first data disk of a VM was, as a user of vCenter does.
func (r *rig) attachedInPlace(vm vsphere.VM) vsphere.VM {
	r.t.Helper()
	return r.changed(vm, types.VirtualDeviceConfigSpecOperationAdd, func(all object.VirtualDeviceList) types.BaseVirtualDevice {
		controller := all.SelectByType((*types.ParaVirtualSCSIController)(nil))[0].(types.BaseVirtualController)
		disk := all.CreateDisk(controller, types.ManagedObjectReference{}, "[LocalDS_0] other.vmdk")
		unit := int32(1)
		disk.UnitNumber, disk.CapacityInBytes, disk.CapacityInKB = &unit, 3<<30, 3<<20
		return disk
	})
}

func TestTheGuestSeesTheUUIDsOfDataDisks(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	shows := func(vm vsphere.VM) string {
		t.Helper()
		all, err := r.person.VMs(r.ctx)
		must(t, err)
		return all[vmPath+vm.Name].Extra["disk.enableUUID"]
	}
	req := r.request(0)
	req.DataDisks = []vsphere.DataDisk{data}
	must(t, r.server.Clone(r.ctx, req))
	must(t, r.server.Clone(r.ctx, r.request(1)))
	if vm := r.settled(0); shows(vm) != "TRUE" || vm.DataDisks != "v1;data:2001:3" {
		t.Errorf("the clone shows %q, with the disks %s", shows(vm), vm.DataDisks)
	}
	if vm := r.settled(1); shows(vm) != "" {
		t.Errorf("a clone without data disks shows %q", shows(vm))
	}
	must(t, r.withData(r.settled(1), logs))
	if vm := r.settled(1); shows(vm) != "TRUE" || vm.DataDisks != "v1;logs:2001:1" {
		t.Errorf("the VM shows %q, with the disks %s", shows(vm), vm.DataDisks)
	}
}

func TestTheCatalogKnowsHowManyDataDisksFit(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	template, err := r.server.Template("vm-operator-template")
	must(t, err)
	if template.DataDisks != 14 || template.DataDisksLinked != 14 { // of 16 units, the root disk has one, and the controller another
		t.Errorf("%d data disks fit", template.DataDisks)
	}
	req := r.request(0)
	for i := range template.DataDisks + 1 {
		req.DataDisks = append(req.DataDisks, vsphere.DataDisk{Name: "d" + strings.Repeat("0", i), SizeGiB: 1})
	}
	if err := r.server.Clone(r.ctx, req); vsphere.KindOf(err) != vsphere.KindSpec || !strings.Contains(err.Error(), "no free unit") {
		t.Errorf("one disk too many is refused with %v", err)
	}
	req.DataDisks = req.DataDisks[1:]
	must(t, r.server.Clone(r.ctx, req))
	if attached, known := r.settled(0).DataDisks.Attached(); !known || len(attached) != 14 || slices.ContainsFunc(attached, func(d vsphere.AttachedDisk) bool { return d.Key == 2007 }) {
		t.Errorf("the clone has %+v", attached)
	}
}

func TestWhatKeepsADataDiskFromBeingAddedOrGrown(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	req := r.request(0)
	req.DataDisks = []vsphere.DataDisk{data}
	must(t, r.server.Clone(r.ctx, req))
	vm := r.settled(0)
	fails := func(want vsphere.Kind, says string, disks ...vsphere.DataDisk) {
		t.Helper()
		before, err := r.person.Disks(r.ctx, vmPath+vm.Name)
		must(t, err)
		if err := r.withData(r.settled(0), disks...); vsphere.KindOf(err) != want || !strings.Contains(err.Error(), says) {
			t.Errorf("it is refused with %v, want %s: %s", err, want, says)
		}
		after, err := r.person.Disks(r.ctx, vmPath+vm.Name)
		must(t, err)
		if len(after) != len(before) {
			t.Errorf("the VM has %d disks, and had %d", len(after), len(before))
		}
	}
	vm = r.changed(vm, types.VirtualDeviceConfigSpecOperationRemove, func(all object.VirtualDeviceList) types.BaseVirtualDevice { return all.FindByKey(2001) })
	fails(vsphere.KindSpec, "data disk data was detached", vsphere.DataDisk{Name: "data", SizeGiB: 4})
	fails(vsphere.KindSpec, "data disk data was detached", data, logs)
	must(t, r.withData(r.settled(0), logs)) // the unit of the detached disk stays free for it
	if list := r.settled(0).DataDisks; list != "v1;data:2001:3:detached,logs:2002:1" {
		t.Errorf("the list is %s", list)
	}
	// Without the list, the operator would create an empty disk beside the VM's.
	list := string(r.settled(0).DataDisks)
	must(t, r.person.Set(r.ctx, vmPath+vm.Name, map[string]string{inventory.KeyDataDisks: ""}))
	r.until("the list is removed", func() bool { return r.settled(0).DataDisks == "" })
	fails(vsphere.KindSpec, "does not list data disk logs", vsphere.DataDisk{Name: "logs", SizeGiB: 2, Had: true})
	must(t, r.person.Set(r.ctx, vmPath+vm.Name, map[string]string{inventory.KeyDataDisks: list}))
	r.until("the list is back", func() bool { return string(r.settled(0).DataDisks) == list })
	// No disk at the unit is the one that was detached before its UUID was recorded.
	vm = r.attachedInPlace(r.settled(0))
	fails(vsphere.KindSpec, "another disk is in its place", vsphere.DataDisk{Name: "data", SizeGiB: 4})
	must(t, r.person.Set(r.ctx, vmPath+vm.Name, map[string]string{inventory.KeyDataDisks: "v9;data"}))
	r.until("the list is observed", func() bool { return r.settled(0).DataDisks == "v9;data" })
	fails(vsphere.KindSpec, inventory.KeyDataDisks, logs)
}

// A user who detaches a data disk and attaches another one gives it the same unit, which is the lowest free one.
func TestAnotherDiskInPlaceOfADataDiskIsNotTheOperators(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	req := r.request(0)
	req.DataDisks = []vsphere.DataDisk{data}
	must(t, r.server.Clone(r.ctx, req))
	vm := r.settled(0)
	must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: vm.Stamp.Revision, Identify: true}))
	r.until("the UUID is recorded", func() bool { return !r.settled(0).DataDisks.Unidentified() && len(r.observe().InFlight) == 0 })
	list := r.settled(0).DataDisks
	r.changed(r.settled(0), types.VirtualDeviceConfigSpecOperationRemove, func(all object.VirtualDeviceList) types.BaseVirtualDevice { return all.FindByKey(2001) })
	r.attachedInPlace(r.settled(0))
	if err := r.withData(r.settled(0), vsphere.DataDisk{Name: "data", SizeGiB: 4}); vsphere.KindOf(err) != vsphere.KindSpec || !strings.Contains(err.Error(), "another disk is in its place") {
		t.Errorf("it is refused with %v", err)
	}
	if got := r.settled(0).DataDisks; got != list {
		t.Errorf("the list is %s, and was %s", got, list)
	}
	must(t, r.server.Mark(r.ctx, target(r.settled(0))))
	r.until("marked", func() bool { return r.settled(0).Tombstone })
	if disks := r.heldFor(r.settled(0)); len(disks) != 1 {
		t.Errorf("it is held for %+v", disks)
	}
}

// A user moved data to the unit of logs, whose UUID was never recorded, and detached logs.
func TestADataDiskThatAUserMovedIsKnownByItsUUID(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	req := r.request(0)
	req.DataDisks = []vsphere.DataDisk{data}
	must(t, r.server.Clone(r.ctx, req))
	identified := func() []vsphere.AttachedDisk {
		t.Helper()
		vm := r.settled(0)
		must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: vm.Stamp.Revision, Identify: true}))
		r.until("the UUIDs are recorded", func() bool { return !r.settled(0).DataDisks.Unidentified() && len(r.observe().InFlight) == 0 })
		disks, _ := r.settled(0).DataDisks.Attached()
		return disks
	}
	created := identified()[0]
	before := created
	before.Key = 2002
	list := string(vsphere.DataDisksOf([]vsphere.AttachedDisk{before, {Name: logs.Name, SizeGiB: logs.SizeGiB, Key: created.Key}}))
	must(t, r.person.Set(r.ctx, vmPath+r.settled(0).Name, map[string]string{inventory.KeyDataDisks: list}))
	r.until("the list is observed", func() bool { return string(r.settled(0).DataDisks) == list })
	if got, want := identified(), []vsphere.AttachedDisk{created, {Name: logs.Name, SizeGiB: logs.SizeGiB, Key: created.Key, UUID: vsphere.Detached}}; !slices.Equal(got, want) {
		t.Errorf("its data disks are %+v, want %+v", got, want)
	}
	if err := r.withData(r.settled(0), vsphere.DataDisk{Name: logs.Name, SizeGiB: 5}); vsphere.KindOf(err) != vsphere.KindSpec || !strings.Contains(err.Error(), "was detached") {
		t.Errorf("a larger size of the detached disk is refused with %v", err)
	}
	must(t, r.withData(r.settled(0), vsphere.DataDisk{Name: data.Name, SizeGiB: 4}))
	must(t, r.server.Mark(r.ctx, target(r.settled(0))))
	r.until("marked", func() bool { return r.settled(0).Tombstone })
	r.destroyed(r.settled(0))
}

// A person detached the second disk of the template. It can be attached again.
func TestADataDiskTakesNoUnitOfADiskOfTheTemplate(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	must(t, r.server.Clone(r.ctx, r.request(0)))
	own := inventory.EncodeDisks([]int32{2000, 2001}, true)
	before := r.settled(0)
	must(t, r.person.Set(r.ctx, vmPath+before.Name, map[string]string{own.Key: own.Value}))
	r.until("the change is observed", func() bool { return r.settled(0).ChangeVersion != before.ChangeVersion })
	must(t, r.withData(r.settled(0), data))
	if got := r.settled(0).DataDisks; got != "v1;data:2002:3" {
		t.Errorf("the list is %s", got)
	}
}

func TestADataDiskOnAnIDEControllerNeedsTheVMOff(t *testing.T) {
	r := edited(t, func(r *rig) error { return r.person.AddIDERootDisk(r.ctx, templatePath, 2) })
	must(t, r.server.Clone(r.ctx, r.request(0)))
	must(t, r.server.PowerOn(r.ctx, target(r.settled(0))))
	r.until("it is on", func() bool { return r.settled(0).Power == vsphere.PoweredOn })
	if err := r.withData(r.settled(0), data); vsphere.KindOf(err) != vsphere.KindOffOnly {
		t.Errorf("a running VM refuses it with %v", err)
	}
	must(t, r.server.PowerOff(r.ctx, target(r.settled(0))))
	r.until("it is off", func() bool { return r.settled(0).Power == vsphere.PoweredOff })
	must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(r.settled(0)), Revision: "2-a", DataDisks: []vsphere.DataDisk{data}}))
	r.until("it has the disk", func() bool { return r.settled(0).DataDisks.Has([]vsphere.DataDisk{data}) })
	attached, _ := r.settled(0).DataDisks.Attached()
	disks, err := r.person.Disks(r.ctx, vmPath+r.settled(0).Name)
	must(t, err)
	if !slices.ContainsFunc(disks, func(d types.VirtualDisk) bool { return d.Key == attached[0].Key && d.CapacityInBytes == 3<<30 }) {
		t.Errorf("of %+v, the VM has only %+v", attached, disks)
	}
}

// Only a larger disk needs the privilege to extend disks.
func TestDataDisksAreAddedWithoutThePrivilegeToExtendDisks(t *testing.T) {
	r := rooted(t)
	must(t, r.server.Clone(r.ctx, r.request(0)))
	must(t, r.withData(r.settled(0), data))
	var e *vsphere.Error
	if err := r.withData(r.settled(0), vsphere.DataDisk{Name: "data", SizeGiB: 4}); !errors.As(err, &e) || e.Privilege != vsphere.PrivilegeDisks {
		t.Errorf("a larger disk is refused with %v", err)
	}
}

// vCenter deletes a VM with all attached disks.
func TestDataDisksOfTheOperatorDoNotHoldADeletionAndOthersDo(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	for ordinal := range int32(2) {
		req := r.request(ordinal)
		req.DataDisks = []vsphere.DataDisk{data}
		must(t, r.server.Clone(r.ctx, req))
		must(t, r.server.Mark(r.ctx, target(r.settled(ordinal))))
		r.until("marked", func() bool { return r.settled(ordinal).Tombstone })
	}
	other := r.settled(1)
	must(t, r.person.AddDisk(r.ctx, vmPath+other.Name, "", ""))
	r.until("the disk is observed", func() bool { return r.settled(1).ChangeVersion != other.ChangeVersion })
	if disks := r.heldFor(r.settled(1)); len(disks) != 1 {
		t.Errorf("it is held for %+v", disks)
	}
	r.destroyed(r.settled(0))
}
