package contract

import (
	"errors"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// resized returns the reconfiguration of a VM to a revision and a size.
func resized(vm vsphere.VM, revision string, cpu int32, memoryMiB int64) vsphere.Reconfiguration {
	t := target(vm)
	t.ChangeVersion = vm.ChangeVersion
	return vsphere.Reconfiguration{Target: t, Revision: revision, CPU: cpu, MemoryMiB: memoryMiB}
}

// becomes waits until the VM of ordinal 0 has a revision and a size, and checks that the rest of it is unchanged.
func (r *run) becomes(before vsphere.VM, revision string, cpu int32, memoryMiB int64) vsphere.VM {
	r.t.Helper()
	vm := r.vm("reconfigured to "+revision, 0, func(vm vsphere.VM) bool {
		return vm.Stamp.Revision == revision && vm.ChangeVersion != before.ChangeVersion
	})
	stamp := *before.Stamp
	stamp.Revision = revision
	if vm.CPU != cpu || vm.MemoryMiB != memoryMiB || *vm.Stamp != stamp || vm.Power != before.Power || vm.BootTime != before.BootTime || vm.InstanceUUID != before.InstanceUUID {
		r.t.Errorf("it was %+v with stamp %+v, and is %+v with stamp %+v", before, *before.Stamp, vm, *vm.Stamp)
	}
	if f := r.observe().Failures; len(f) > 0 {
		r.t.Errorf("failures are observed: %+v", f)
	}
	return vm
}

func reconfigured(r *run) {
	vm := r.clone(0)
	r.ok(r.Server.Reconfigure(r.ctx, resized(vm, "2-a", 1, 1024)))
	vm = r.becomes(vm, "2-a", 1, 1024)
	r.ok(r.Server.Reconfigure(r.ctx, resized(vm, "2-b", 0, 0)))
	vm = r.becomes(vm, "2-b", 1, 1024)

	r.ok(r.Server.Reconfigure(r.ctx, resized(vm, "2-b", 1, 1024)))
	o := r.settled("nothing is to be done", vm.Ref, func(vsphere.Observation) bool { return true })
	if again, _ := stamped(o, 0); again.ChangeVersion != vm.ChangeVersion {
		r.t.Errorf("a VM that was like that already went from change version %s to %s", vm.ChangeVersion, again.ChangeVersion)
	}

	stale := resized(vm, "2-c", 2, 1024)
	stale.ChangeVersion = "stale"
	r.failsToReconfigure(stale, vsphere.KindConflict)
	other, wrong := resized(vm, "2-c", 2, 1024), resized(vm, "2-c", 2, 1024)
	other.ID.Group, wrong.Ordinal = "group-2", 5
	for _, foreign := range []vsphere.Reconfiguration{other, wrong} {
		r.refused(r.Server.Reconfigure(r.ctx, foreign), vsphere.KindForeign)
	}
	vm = r.vm("nothing has changed", 0, func(vsphere.VM) bool { return true })
	if vm.Stamp.Revision != "2-b" || vm.CPU != 1 {
		r.t.Errorf("after refusals it is %+v with stamp %+v", vm, *vm.Stamp)
	}
	r.ok(r.Server.Mark(r.ctx, target(vm)))
	vm = r.vm("marked", 0, func(vm vsphere.VM) bool { return vm.Tombstone })
	r.refused(r.Server.Reconfigure(r.ctx, resized(vm, "2-c", 2, 1024)), vsphere.KindConflict)
}

// failsToReconfigure checks that a reconfiguration fails, at once or as a task.
func (r *run) failsToReconfigure(what vsphere.Reconfiguration, kind vsphere.Kind) {
	r.t.Helper()
	if err := r.Server.Reconfigure(r.ctx, what); err != nil {
		r.refused(err, kind)
	}
	o := r.settled("it is refused", what.VM, func(o vsphere.Observation) bool { return len(o.Failures) == 1 })
	f := o.Failures[0]
	r.refused(f.Err, kind)
	if f.Kind != vsphere.OpReconfigure || f.Ordinal != what.Ordinal || f.Revision != what.Revision || !f.RetryAt.After(f.At) {
		r.t.Errorf("failure %+v", f)
	}
}

func reconfiguredWhileItRuns(r *run) {
	vm := r.clone(0)
	if vm.HotAdd.CPU || vm.HotAdd.Memory || !vm.BootTime.IsZero() {
		r.t.Errorf("cloned %+v", vm)
	}
	on := func() {
		r.t.Helper()
		r.ok(r.Server.PowerOn(r.ctx, target(vm)))
		vm = r.vm("powered on", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn && !vm.BootTime.IsZero() })
	}
	on()
	for _, what := range []vsphere.Reconfiguration{resized(vm, "2-a", 4, 512), resized(vm, "2-a", 2, 1024)} {
		r.failsToReconfigure(what, vsphere.KindOffOnly)
	}
	if can, why := vsphere.CanHotAdd(vm, 4, 0, 512); can || why == "" {
		r.t.Errorf("%+v can have 4 CPUs while it runs: %q", vm, why)
	}
	r.ok(r.Server.PowerOff(r.ctx, target(vm)))
	vm = r.vm("powered off", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOff && vm.BootTime.IsZero() })

	r.Person.AllowHotAdd(r.folder, vm)
	vm = r.vm("hot add is allowed", 0, func(vm vsphere.VM) bool { return vm.HotAdd.CPU && vm.HotAdd.Memory && vm.HotAdd.MemoryLimitMiB > 0 })
	on()
	if can, why := vsphere.CanHotAdd(vm, 4, 0, 1024); !can {
		r.t.Errorf("%+v cannot have 4 CPUs and 1024 MiB while it runs: %s", vm, why)
	}
	r.ok(r.Server.Reconfigure(r.ctx, resized(vm, "2-a", 4, 1024)))
	vm = r.becomes(vm, "2-a", 4, 1024)
	r.failsToReconfigure(resized(vm, "2-b", 2, 1024), vsphere.KindOffOnly)
	r.ok(r.Server.Reconfigure(r.ctx, resized(vm, "2-b", 4, 0)))
	r.becomes(vm, "2-b", 4, 1024)
}

func otherSockets(r *run) {
	vm := r.clone(0)
	in := func(revision string, cpu, cores int32) vsphere.Reconfiguration {
		what := resized(vm, revision, cpu, 0)
		what.CoresPerSocket = cores
		return what
	}
	r.ok(r.Server.Reconfigure(r.ctx, in("2-a", 4, 2)))
	vm = r.becomes(vm, "2-a", 4, vm.MemoryMiB)
	if n := vm.HotAdd.CoresPerSocket; n != 2 {
		r.t.Errorf("the VM has %d cores per socket, want 2", n)
	}
	r.failsToReconfigure(in("2-b", 3, 0), vsphere.KindSpec)
	r.ok(r.Server.Reconfigure(r.ctx, in("2-b", 3, 3)))
	vm = r.becomes(vm, "2-b", 3, vm.MemoryMiB)
	r.ok(r.Server.PowerOn(r.ctx, target(vm)))
	vm = r.vm("powered on", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn && !vm.BootTime.IsZero() })
	r.failsToReconfigure(in("2-c", 0, 1), vsphere.KindOffOnly)
}

func grown(r *run) {
	template := r.request(0).Template
	has := int32(template.RootDiskBytes >> 30)
	if has == 0 {
		r.t.Fatalf("the template %+v has no disk of a whole GiB", template)
	}
	vm := r.cloneLarger(0)
	is := func(want int32) {
		r.t.Helper()
		if got := r.Person.RootDiskGiB(r.folder, vm); got != want {
			r.t.Errorf("the root disk has %d GiB, want %d", got, want)
		}
		if vm.RootDiskGiB != want {
			r.t.Errorf("the inventory shows a root disk of %d GiB, want %d", vm.RootDiskGiB, want)
		}
		if marked := r.Server.Marked(id.Key()); len(marked) != 1 || marked[0].RootDiskGiB != want {
			r.t.Errorf("in sums counts %+v, want a root disk of %d GiB", marked, want)
		}
	}
	is(has + 2)
	to := func(revision string, size int32) vsphere.Reconfiguration {
		what := resized(vm, revision, 0, 0)
		what.RootDiskGiB = size
		return what
	}
	r.ok(r.Server.PowerOn(r.ctx, target(vm)))
	vm = r.vm("powered on", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn && !vm.BootTime.IsZero() })
	r.ok(r.Server.Reconfigure(r.ctx, to("2-a", has+4)))
	vm = r.becomes(vm, "2-a", vm.CPU, vm.MemoryMiB)
	is(has + 4)
	r.ok(r.Server.Reconfigure(r.ctx, to("2-b", has+3)))
	vm = r.becomes(vm, "2-b", vm.CPU, vm.MemoryMiB)
	is(has + 4) // it had more already

	r.Person.Snapshot(r.folder, vm)
	vm = r.vm("as it is with the snapshot", 0, func(vsphere.VM) bool { return true })
	r.failsToReconfigure(to("2-c", has+6), vsphere.KindGrowthBlocked)
	var blocked *vsphere.GrowthBlocked
	if f := r.observe().Failures; !errors.As(f[0].Err, &blocked) || !strings.Contains(blocked.Blocker, "base") || blocked.SizeGiB != has+6 {
		r.t.Errorf("the growth is blocked by %+v", blocked)
	}
	is(has + 4)
	r.Person.RemoveSnapshots(r.folder, vm)
	vm = r.vm("as it is without the snapshot", 0, func(vsphere.VM) bool { return true })
	r.ok(r.Server.Reconfigure(r.ctx, to("2-c", has+6)))
	vm = r.becomes(vm, "2-c", vm.CPU, vm.MemoryMiB)
	is(has + 6)
}

func reconnected(r *run) {
	vm := r.clone(0)
	place, err := r.Server.Placement(vsphere.Placement{Network: r.Network})
	r.ok(err)
	before := r.Person.Network(r.folder, vm)
	what := resized(vm, "2-a", 0, 0)
	what.Network = place.Network
	r.ok(r.Server.Reconfigure(r.ctx, what))
	vm = r.becomes(vm, "2-a", vm.CPU, vm.MemoryMiB)
	after := r.Person.Network(r.folder, vm)
	if after == before || after.MAC != before.MAC || after.Ref != place.Network {
		r.t.Errorf("its adapter was %+v and is %+v, want it in %v", before, after, place.Network)
	}
	what = resized(vm, "2-a", 0, 0)
	what.Network = place.Network
	r.ok(r.Server.Reconfigure(r.ctx, what))
	o := r.settled("nothing is to be done", vm.Ref, func(vsphere.Observation) bool { return true })
	if again, _ := stamped(o, 0); again.ChangeVersion != vm.ChangeVersion || len(o.Failures) > 0 {
		r.t.Errorf("a VM that was in the network already is %+v, with failures %+v", again, o.Failures)
	}
}

// reconfiguredOnce checks that a reconfiguration uses a slot and blocks other operations on the ordinal.
func reconfiguredOnce(r *run) {
	vm := r.clone(0)
	r.until("no task runs", func() bool { return r.Server.Health().RunningTasks == 0 })
	slots := r.Server.Acquire(id.Key(), "", 1)
	defer slots.Release()
	if slots.Granted() != 1 {
		r.t.Fatalf("granted %d slots, want 1", slots.Granted())
	}
	r.ok(r.Server.Reconfigure(r.ctx, resized(vm, "2-a", 1, 0)))
	o := r.observe(vm.Ref)
	inFlight := slices.ContainsFunc(o.InFlight, func(op vsphere.Operation) bool { return op.Kind == vsphere.OpReconfigure && op.VM == vm.Ref })
	if now, _ := stamped(o, 0); !inFlight && now.Stamp.Revision != "2-a" {
		r.t.Errorf("neither in flight nor done: %+v", o)
	}
	if err := r.Server.PowerOn(r.ctx, target(vm)); err != nil {
		r.refused(err, vsphere.KindBusy)
	}
	r.becomesSized(1)
	r.until("no task runs", func() bool { return r.Server.Health().RunningTasks == 0 })
}

func (r *run) becomesSized(cpu int32) {
	r.t.Helper()
	r.vm("reconfigured", 0, func(vm vsphere.VM) bool { return vm.CPU == cpu })
}
