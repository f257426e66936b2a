package govmomi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// rooted is a rig whose template has a disk of 2 GiB, and a snapshot.
func rooted(t *testing.T, privileges ...string) *rig {
	return edited(t, func(r *rig) error {
		if err := r.person.AddRootDisk(r.ctx, templatePath, 2); err != nil {
			return err
		}
		return r.person.Snapshot(r.ctx, templatePath)
	}, func(o *sim.Options, _ *govmomi.Config) {
		o.Privileges = slices.Concat(sim.OperatorPrivileges, privileges)
	})
}

// rootDisk is the size of a VM's first disk in GiB.
func (r *rig) rootDisk(vm vsphere.VM) int32 {
	r.t.Helper()
	size, err := r.person.RootDiskGiB(r.ctx, vmPath+vm.Name)
	must(r.t, err)
	return size
}

// grow requests a root disk, and returns the error of the request or of its task.
func (r *rig) grow(vm vsphere.VM, sizeGiB int32) error {
	r.t.Helper()
	to := target(vm)
	to.ChangeVersion = vm.ChangeVersion
	if err := r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: to, Revision: "2-a", RootDiskGiB: sizeGiB}); err != nil {
		return err
	}
	r.until("nothing is in flight", func() bool { return len(r.observe().InFlight) == 0 })
	for _, f := range r.observe().Failures {
		return f.Err
	}
	return nil
}

func TestAFullCloneHasALargerRootDiskAndALinkedOneNever(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	template, err := r.server.Template("vm-operator-template")
	must(t, err)
	if template.RootDiskBytes != 2<<30 {
		t.Fatalf("the template's disk has %d bytes", template.RootDiskBytes)
	}
	for ordinal, size := range []int32{5, 2} {
		req := r.request(int32(ordinal))
		req.RootDiskGiB = size
		must(t, r.server.Clone(r.ctx, req))
		if got := r.rootDisk(r.settled(int32(ordinal))); got != size {
			t.Errorf("the clone's disk has %d GiB, want %d", got, size)
		}
	}
	if got, err := r.person.RootDiskGiB(r.ctx, templatePath); err != nil || got != 2 {
		t.Errorf("the template's disk has %d GiB now: %v", got, err)
	}
	req := r.request(2)
	req.RootDiskGiB = 1
	if err := r.server.Clone(r.ctx, req); vsphere.KindOf(err) != vsphere.KindSpec {
		t.Errorf("a smaller disk is refused with %v", err)
	}

	linked := r.request(3)
	linked.Linked, linked.Stamp.CloneMode = true, "Linked"
	must(t, r.server.Clone(r.ctx, linked))
	vm := r.settled(3)
	before := r.proxy.Count("ReconfigVM_Task", agent)
	var blocked *vsphere.GrowthBlocked
	if err := r.growsNot(vm, 5); !errors.As(err, &blocked) || !strings.Contains(blocked.Blocker, "linked clone") || blocked.ChangeVersion != vm.ChangeVersion {
		t.Errorf("a linked clone is refused with %v", err)
	}
	if n := r.proxy.Count("ReconfigVM_Task", agent); n != before || r.rootDisk(vm) != 2 {
		t.Errorf("%d calls were sent, and the disk has %d GiB", n-before, r.rootDisk(vm))
	}
}

// growsNot requests a root disk for a VM, and returns why it is refused.
func (r *rig) growsNot(vm vsphere.VM, sizeGiB int32) error {
	r.t.Helper()
	err := r.grow(vm, sizeGiB)
	if err == nil {
		r.t.Fatalf("the disk of %s grew to %d GiB", vm.Name, r.rootDisk(vm))
	}
	return err
}

func TestWhatKeepsARootDiskFromGrowing(t *testing.T) {
	r := rooted(t, sim.DiskPrivileges...)
	vms := make([]vsphere.VM, 0, 4)
	for ordinal := range int32(cap(vms)) {
		must(t, r.server.Clone(r.ctx, r.request(ordinal)))
		vms = append(vms, r.settled(ordinal))
	}
	change := func(vm vsphere.VM, edit func(devices object.VirtualDeviceList) []types.BaseVirtualDeviceConfigSpec) vsphere.VM {
		t.Helper()
		must(t, r.person.ChangeDevices(r.ctx, vmPath+vm.Name, edit))
		r.until("the change is observed", func() bool { return r.settled(vm.Stamp.Ordinal).ChangeVersion != vm.ChangeVersion })
		return r.settled(vm.Stamp.Ordinal)
	}
	// A backup left a child disk behind.
	child := change(vms[0], func(devices object.VirtualDeviceList) []types.BaseVirtualDeviceConfigSpec {
		disk := devices.SelectByType((*types.VirtualDisk)(nil))[0]
		backing := disk.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		parent := *backing
		backing.Parent = &parent
		return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk}}
	})
	var blocked *vsphere.GrowthBlocked
	if err := r.growsNot(child, 5); !errors.As(err, &blocked) || !strings.Contains(blocked.Remedy, "Consolidate") {
		t.Errorf("a child disk is refused with %v", err)
	}
	// The disk of the clone was detached, and another one attached.
	must(t, r.person.AddDisk(r.ctx, vmPath+vms[1].Name, "", ""))
	change(vms[1], func(devices object.VirtualDeviceList) []types.BaseVirtualDeviceConfigSpec {
		return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: devices.SelectByType((*types.VirtualDisk)(nil))[0]}}
	})
	if err := r.growsNot(r.settled(1), 5); vsphere.KindOf(err) != vsphere.KindSpec || !strings.Contains(err.Error(), "attach it again") {
		t.Errorf("a VM without its disk is refused with %v", err)
	}
	// An adopted VM has no keys in its stamp.
	must(t, r.person.AddDisk(r.ctx, vmPath+vms[3].Name, "", ""))
	must(t, r.person.Set(r.ctx, vmPath+vms[3].Name, map[string]string{inventory.KeyDisks: ""}))
	r.until("both changes are observed", func() bool { return r.settled(3).ChangeVersion != vms[3].ChangeVersion })
	if err := r.growsNot(r.settled(3), 5); !errors.As(err, &blocked) || !strings.Contains(blocked.Blocker, "several disks") {
		t.Errorf("an adopted VM with two disks is refused with %v", err)
	}
	// vCenter refuses it to a running VM with an IDE disk.
	must(t, r.person.MoveToIDE(r.ctx, vmPath+vms[2].Name))
	must(t, r.server.PowerOn(r.ctx, target(vms[2])))
	r.until("it is on", func() bool { return r.settled(2).Power == vsphere.PoweredOn })
	if err := r.growsNot(r.settled(2), 5); vsphere.KindOf(err) != vsphere.KindOffOnly {
		t.Errorf("an IDE disk is refused with %v", err)
	}
	must(t, r.server.PowerOff(r.ctx, target(vms[2])))
	r.until("it is off", func() bool { return r.settled(2).Power == vsphere.PoweredOff })
	must(t, r.server.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(r.settled(2)), Revision: "2-a", RootDiskGiB: 5}))
	r.until("nothing is in flight", func() bool { return len(r.observe().InFlight) == 0 })
	if got := r.rootDisk(vms[2]); got != 5 {
		for _, f := range r.observe().Failures {
			t.Errorf("the disk of web-2 has %d GiB; ordinal %d: %v", got, f.Ordinal, f.Err)
		}
	}
	if r.rootDisk(vms[3]) != 2 {
		t.Error("the disk of another VM grew")
	}
}

func TestLargerDisksNeedAPrivilegeOfTheirOwn(t *testing.T) {
	r := rooted(t)
	if lacks := r.observe().Lacks; !slices.Equal(lacks, []string{vsphere.PrivilegeDisks}) {
		t.Errorf("for changes of VMs the account is said to lack %v", lacks)
	}
	if missing := r.server.Health().MissingPrivileges; len(missing) > 0 {
		t.Errorf("the account is said to lack %v for all groups", missing)
	}
	must(t, r.server.Clone(r.ctx, r.request(0)))
	denied := func(what string) {
		t.Helper()
		err := r.growsNot(r.settled(0), 5)
		var e *vsphere.Error
		if !errors.As(err, &e) || e.Kind != vsphere.KindPermission || e.Privilege != vsphere.PrivilegeDisks {
			t.Errorf("%s is refused with %v", what, err)
		}
	}
	denied("a VM that is off")
	// The answer that the VM must be off would stop it in vain.
	must(t, r.person.MoveToIDE(r.ctx, vmPath+r.settled(0).Name))
	must(t, r.server.PowerOn(r.ctx, target(r.settled(0))))
	r.until("it is on", func() bool { return r.settled(0).Power == vsphere.PoweredOn })
	denied("a running VM with an IDE disk")
}
