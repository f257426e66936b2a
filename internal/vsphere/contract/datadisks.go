package contract

import (
	"errors"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func dataDisks(r *run) {
	req := r.request(0)
	req.DataDisks = []vsphere.DataDisk{{Name: "data", SizeGiB: 3, Provisioning: vsphere.Thin}}
	vm := r.cloned(req)
	root := r.Person.RootDiskGiB(r.folder, vm)
	is := func(list vsphere.DataDisks, sizes ...int32) {
		r.t.Helper()
		attached, _ := vm.DataDisks.Attached()
		for i := range attached {
			attached[i].UUID = ""
		}
		if got := vsphere.DataDisksOf(attached); got != list {
			r.t.Errorf("the inventory shows %q, want %q", got, list)
		}
		if got := r.Person.DisksGiB(r.folder, vm); !slices.Equal(got, append([]int32{root}, sizes...)) {
			r.t.Errorf("the VM has disks of %v GiB, want %d and %v", got, root, sizes)
		}
	}
	is("v1;data:2001:3", 3)
	identify := func() {
		r.t.Helper()
		if !vm.DataDisks.Unidentified() {
			r.t.Errorf("the UUIDs of %s are recorded already", vm.DataDisks)
		}
		what := resized(vm, vm.Stamp.Revision, 0, 0)
		what.Identify = true
		r.ok(r.Server.Reconfigure(r.ctx, what))
		vm = r.vm("with the UUIDs", 0, func(vm vsphere.VM) bool { return !vm.DataDisks.Unidentified() })
		attached, _ := vm.DataDisks.Attached()
		for _, d := range attached {
			if !vsphere.IsUUID(d.UUID) {
				r.t.Errorf("of %s, %q is recorded", d.Name, d.UUID)
			}
		}
	}
	identify()
	is("v1;data:2001:3", 3)
	to := func(revision string, wanted ...vsphere.DataDisk) vsphere.Reconfiguration {
		what := resized(vm, revision, 0, 0)
		what.DataDisks = wanted
		return what
	}
	r.ok(r.Server.PowerOn(r.ctx, target(vm)))
	vm = r.vm("powered on", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn && !vm.BootTime.IsZero() })
	logs := vsphere.DataDisk{Name: "logs", SizeGiB: 1}
	r.ok(r.Server.Reconfigure(r.ctx, to("2-a", logs, vsphere.DataDisk{Name: "data", SizeGiB: 4})))
	vm = r.becomes(vm, "2-a", vm.CPU, vm.MemoryMiB)
	is("v1;data:2001:4,logs:2002:1", 4, 1)
	identify()
	r.ok(r.Server.Reconfigure(r.ctx, to("2-b", logs))) // the other one stays
	vm = r.becomes(vm, "2-b", vm.CPU, vm.MemoryMiB)
	is("v1;data:2001:4,logs:2002:1", 4, 1)

	r.Person.Snapshot(r.folder, vm)
	vm = r.vm("as it is with the snapshot", 0, func(vsphere.VM) bool { return true })
	r.failsToReconfigure(to("2-c", vsphere.DataDisk{Name: "logs", SizeGiB: 5}), vsphere.KindGrowthBlocked)
	var blocked *vsphere.GrowthBlocked
	if f := r.observe().Failures; !errors.As(f[0].Err, &blocked) || blocked.Disk != "logs" || blocked.SizeGiB != 5 {
		r.t.Errorf("the growth is blocked by %+v", blocked)
	}
	r.Person.RemoveSnapshots(r.folder, vm)
	vm = r.vm("as it is without the snapshot", 0, func(vsphere.VM) bool { return true })

	// The disks are the VM's own, and go with it.
	r.ok(r.Server.PowerOff(r.ctx, target(vm)))
	vm = r.vm("powered off", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOff })
	r.ok(r.Server.Mark(r.ctx, target(vm)))
	vm = r.vm("marked", 0, func(vm vsphere.VM) bool { return vm.Tombstone })
	r.ok(r.Server.Destroy(r.ctx, target(vm)))
	r.settled("destroyed", vm.Ref, func(o vsphere.Observation) bool { return slices.Contains(o.Gone, vm.Ref) })
}
