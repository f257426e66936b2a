package contract

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ServerContract tests the promises in doc.go and port.go of package vsphere. It calls newRig for each subtest. newRig
// must stop with t.Cleanup what it starts.
func ServerContract(t *testing.T, newRig func(t *testing.T) Rig) {
	for _, tc := range []struct {
		name string
		test func(*run)
	}{
		{"life of a VM", life},
		{"repetition is no error", repetition},
		{"a VM is reconfigured", reconfigured},
		{"a running VM is reconfigured as far as hot add goes", reconfiguredWhileItRuns},
		{"a VM gets other sockets", otherSockets},
		{"a VM is connected to another network", reconnected},
		{"a root disk grows, and a snapshot blocks it", grown},
		{"data disks are created with the clone, added and grown", dataDisks},
		{"a reconfiguration is a task", reconfiguredOnce},
		{"a clone gives its guest its identity", guestIdentity},
		{"what a guest has written is observed by who asks", guestWrites},
		{"nothing without a fence", fence},
		{"one VM per ordinal", oneVMPerOrdinal},
		{"a name is taken once", nameTaken},
		{"others' VMs are left alone", foreign},
		{"a copy is observed and is no other's", copied},
		{"a released VM has no owner and is recognized by its mark", released},
		{"a mark beside a stamp means nothing", markedByHand},
		{"a clone has no mark of its template's", markedTemplate},
		{"VMs of another installation are observed, and left alone until they are stamped anew", anotherInstallation},
		{"a VM of another group is adopted by its stamp", adoptedByStamp},
		{"a released VM is adopted by its mark", adoptedByMark},
		{"a VM without either is adopted from the folder that was granted", adoptedFromAFolder},
		{"an adopted VM gets no name that is taken", adoptedIntoATakenName},
		{"a VM that left was deleted or moved", left},
		{"a VM that was registered again is found by its instance UUID", registeredAgain},
		{"nothing is cloned into a folder that was moved out", folderMovedOut},
		{"names are found", names},
		{"slots", slots},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(newRun(t, newRig(t))) })
	}
}

func life(r *run) {
	vm := r.clone(0)
	want := r.request(0)
	if vm.Name != want.Name || vm.Folder != r.folder.Ref || vm.Power != vsphere.PoweredOff || !vm.Connected() ||
		vm.CPU != want.CPU || vm.MemoryMiB != want.MemoryMiB || vm.InstanceUUID != want.UUID || vm.Tombstone || vm.IsTemplate {
		r.t.Errorf("cloned %+v", vm)
	}
	if *vm.Stamp != want.Stamp {
		r.t.Errorf("stamped %+v, want %+v", *vm.Stamp, want.Stamp)
	}
	if got := r.Server.Health().VMs; got != 1 {
		r.t.Errorf("%d VMs are counted, want 1", got)
	}
	r.ok(r.Server.PowerOn(r.ctx, target(vm)))
	vm = r.vm("powered on", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn })

	before := vm.ChangeVersion
	r.ok(r.Server.Mark(r.ctx, target(vm)))
	vm = r.vm("marked", 0, func(vm vsphere.VM) bool { return vm.Tombstone })
	if vm.ChangeVersion == before {
		r.t.Errorf("the change version is %q still after the VM was marked", before)
	}
	r.ok(r.Server.PowerOff(r.ctx, target(vm)))
	vm = r.vm("powered off", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOff })

	heldForADisk(r, vm)
	r.ok(r.Server.Destroy(r.ctx, target(vm)))
	o := r.settled("destroyed", vm.Ref, func(o vsphere.Observation) bool { return slices.Contains(o.Gone, vm.Ref) })
	if len(o.VMs) > 0 || len(o.Elsewhere) > 0 || len(o.Failures) > 0 || o.FolderGone {
		r.t.Errorf("observed in the end %+v", o)
	}
	r.ok(r.Server.DestroyFolder(r.ctx, r.folder.Ref))
	r.settled("folder removed", vsphere.Ref{}, func(o vsphere.Observation) bool { return o.FolderGone })
}

// heldForADisk attaches a disk to a VM that is about to be destroyed, checks that the VM stays, and detaches the disk.
func heldForADisk(r *run, vm vsphere.VM) {
	r.t.Helper()
	r.Person.AttachDisk(r.folder, vm)
	try := target(vm)
	try.ChangeVersion = vm.ChangeVersion
	err := r.Server.Destroy(r.ctx, try)
	r.refused(err, vsphere.KindForeignDisk)
	var foreign *vsphere.ForeignDisks
	if !errors.As(err, &foreign) || foreign.ChangeVersion != vm.ChangeVersion || foreign.Path != r.folder.Path+"/"+vm.Name ||
		len(foreign.Disks) != 1 || foreign.Disks[0].FirstClassID == "" || foreign.Disks[0].Device == "" {
		r.t.Errorf("it is held by %+v", foreign)
	}
	o := r.settled("the disk is attached", vm.Ref, func(o vsphere.Observation) bool { return len(o.VMs) == 1 && o.VMs[0].ChangeVersion != vm.ChangeVersion })
	if len(o.Failures) != 1 || o.Failures[0].Kind != vsphere.OpDestroy {
		r.t.Errorf("observed %+v", o)
	}
	r.Person.DetachDisk(r.folder, vm)
}

func repetition(r *run) {
	again, err := r.Server.EnsureFolder(r.ctx, path)
	r.ok(err)
	if again.Ref != r.folder.Ref {
		r.t.Errorf("the folder is %v, and asked for again %v", r.folder.Ref, again.Ref)
	}
	vm := r.clone(0)
	for _, step := range []struct {
		what string
		do   func(context.Context, vsphere.Target) error
		done func(vsphere.VM) bool
	}{
		{"power off", r.Server.PowerOff, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOff }},
		{"power on", r.Server.PowerOn, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn }},
		{"power off", r.Server.PowerOff, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOff }},
		{"mark", r.Server.Mark, func(vm vsphere.VM) bool { return vm.Tombstone }},
	} {
		for range 2 {
			r.ok(step.do(r.ctx, target(vm)))
			r.vm(step.what, 0, step.done)
		}
	}
	if f := r.observe().Failures; len(f) > 0 {
		r.t.Errorf("failures are observed: %+v", f)
	}
	r.ok(r.Server.Destroy(r.ctx, target(vm)))
	r.settled("destroyed", vm.Ref, func(o vsphere.Observation) bool { return slices.Contains(o.Gone, vm.Ref) })
	r.ok(r.Server.Destroy(r.ctx, target(vm)))
	r.ok(r.Server.DestroyFolder(r.ctx, r.folder.Ref))
	r.settled("folder removed", vsphere.Ref{}, func(o vsphere.Observation) bool { return o.FolderGone })
	r.ok(r.Server.DestroyFolder(r.ctx, r.folder.Ref))
}

var errLost = errors.New("the lease is lost")

func fence(r *run) {
	vm := r.clone(0)
	empty, err := r.Server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "n", Leaf: "empty"})
	r.ok(err)
	for name, ctx := range map[string]context.Context{
		"no fence":     r.t.Context(),
		"fence closed": vsphere.WithFence(r.t.Context(), func() error { return errLost }),
	} {
		_, err := r.Server.EnsureFolder(ctx, vsphere.FolderPath{Member: "m", Namespace: "n", Leaf: name})
		r.refused(err, vsphere.KindFenced)
		r.refused(r.Server.Clone(ctx, r.request(1)), vsphere.KindFenced)
		r.refused(r.Server.PowerOn(ctx, target(vm)), vsphere.KindFenced)
		r.refused(r.Server.Mark(ctx, target(vm)), vsphere.KindFenced)
		r.refused(r.Server.Release(ctx, target(vm)), vsphere.KindFenced)
		what := resized(vm, "2-a", 1, 0)
		r.refused(r.Server.Reconfigure(ctx, what), vsphere.KindFenced)
		what.Network = vsphere.Ref{Type: "Network", Value: "network-1"}
		r.refused(r.Server.Reconfigure(ctx, what), vsphere.KindFenced)
		r.refused(r.Server.DestroyFolder(ctx, empty.Ref), vsphere.KindFenced)
	}
	o := r.settled("nothing in flight", vm.Ref, func(vsphere.Observation) bool { return true })
	if len(o.VMs) != 1 || o.VMs[0].Power != vsphere.PoweredOff || o.VMs[0].Tombstone || o.VMs[0].Stamp == nil {
		r.t.Errorf("observed %+v", o.VMs)
	}
	again, err := r.Server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "n", Leaf: "empty"})
	r.ok(err)
	if again.Ref != empty.Ref {
		r.t.Errorf("the folder %v was destroyed: there is %v now", empty.Ref, again.Ref)
	}
	if len(o.Failures) > 0 {
		r.t.Errorf("what was not sent is observed as failed: %+v", o.Failures)
	}
}

func oneVMPerOrdinal(r *run) {
	var err error
	ordinal := int32(0)
	for ; err == nil && ordinal < 10; ordinal++ { // a clone can end before the second request for it
		req := r.request(ordinal)
		r.ok(r.Server.Clone(r.ctx, req))
		req.Name += "-again" // so that only the ordinal conflicts
		err = r.Server.Clone(r.ctx, req)
	}
	r.refused(err, vsphere.KindBusy)
	r.vm("cloned", ordinal-1, func(vsphere.VM) bool { return true })
	vms := slices.DeleteFunc(r.observe().VMs, func(vm vsphere.VM) bool { return vm.Stamp == nil || vm.Stamp.Ordinal != ordinal-1 })
	if len(vms) != 1 {
		r.t.Errorf("%d VMs of ordinal %d are there, want 1", len(vms), ordinal-1)
	}
}

func nameTaken(r *run) {
	first := r.clone(0)
	req := r.request(1)
	req.Name = first.Name
	if err := r.Server.Clone(r.ctx, req); err != nil {
		r.refused(err, vsphere.KindNameTaken)
	}
	o := r.settled("refused", first.Ref, func(o vsphere.Observation) bool { return len(o.Failures) > 0 })
	f := o.Failures[0]
	if f.Kind != vsphere.OpClone || f.Ordinal != 1 || f.Count != 1 || f.Revision != req.Stamp.Revision || !f.RetryAt.After(f.At) {
		r.t.Errorf("failure %+v", f)
	}
	r.refused(f.Err, vsphere.KindNameTaken)
	if len(o.VMs) != 1 {
		r.t.Errorf("%d VMs are there, want 1", len(o.VMs))
	}
	req.Name = "web-1"
	r.ok(r.Server.Clone(r.ctx, req))
	r.vm("cloned", 1, func(vsphere.VM) bool { return true })
	if f := r.observe().Failures; len(f) > 0 {
		r.t.Errorf("failures are left after a success: %+v", f)
	}
}

func foreign(r *run) {
	vm := r.clone(0)
	r.refused(r.Server.Destroy(r.ctx, target(vm)), vsphere.KindForeign) // not marked
	other := target(vm)
	other.ID.Group = "group-2"
	wrong := target(vm)
	wrong.Ordinal = 5
	r.Person.AddVM(r.folder, "precious")
	var precious vsphere.VM
	r.settled("the foreign VM is observed", vm.Ref, func(o vsphere.Observation) bool {
		i := slices.IndexFunc(o.VMs, func(vm vsphere.VM) bool { return vm.Name == "precious" })
		if i >= 0 {
			precious = o.VMs[i]
		}
		return i >= 0
	})
	if precious.Stamp != nil || precious.Tombstone {
		r.t.Errorf("the foreign VM is %+v", precious)
	}
	theirs := vsphere.Target{VM: precious.Ref, ID: id}
	for _, t := range []vsphere.Target{other, wrong, theirs} {
		for _, do := range []func(context.Context, vsphere.Target) error{
			r.Server.PowerOn, r.Server.PowerOff, r.Server.ShutdownGuest, r.Server.Mark, r.Server.Release, r.Server.Destroy,
		} {
			r.refused(do(r.ctx, t), vsphere.KindForeign)
		}
	}
	r.ok(r.Server.Mark(r.ctx, target(vm)))
	r.vm("marked", 0, func(vm vsphere.VM) bool { return vm.Tombstone })
	r.refused(r.Server.DestroyFolder(r.ctx, r.folder.Ref), vsphere.KindNotEmpty)
	r.ok(r.Server.Destroy(r.ctx, target(vm)))
	r.settled("destroyed", vm.Ref, func(o vsphere.Observation) bool { return slices.Contains(o.Gone, vm.Ref) })
	kept := r.Server.DestroyFolder(r.ctx, r.folder.Ref)
	r.refused(kept, vsphere.KindNotEmpty)
	var e *vsphere.Error
	if !errors.As(kept, &e) || !slices.Equal(e.Holds, []vsphere.Ref{precious.Ref}) {
		r.t.Errorf("the folder is kept for %+v", e)
	}
	if o := r.observe(); o.FolderGone || len(o.VMs) != 1 || o.VMs[0].Ref != precious.Ref {
		r.t.Errorf("observed in the end %+v", o)
	}
	parent := r.folder.Parent
	r.refused(r.Server.DestroyFolder(r.ctx, parent), vsphere.KindHoldsFolders)
}

func copied(r *run) {
	vm := r.clone(0)
	r.Person.CopyVM(r.folder, vm, "by-hand")
	o := r.settled("the copy is observed", vm.Ref, func(o vsphere.Observation) bool { return len(o.VMs) == 2 })
	for _, got := range o.VMs {
		if got.Stamp == nil || *got.Stamp != *vm.Stamp {
			r.t.Errorf("%s carries the stamp %+v, want that of the original", got.Name, got.Stamp)
		}
	}
	if !slices.IsSortedFunc(o.VMs, func(a, b vsphere.VM) int { return strings.Compare(a.Ref.Value, b.Ref.Value) }) {
		r.t.Errorf("VMs are not sorted: %v", o.VMs)
	}
	r.ok(r.Server.Release(r.ctx, target(vm)))
	o = r.settled("released", vm.Ref, func(o vsphere.Observation) bool {
		return slices.ContainsFunc(o.VMs, func(o vsphere.VM) bool { return o.Ref == vm.Ref && o.Stamp == nil })
	})
	if len(o.VMs) != 2 {
		r.t.Errorf("%d VMs are in the folder, want the released one and its copy", len(o.VMs))
	}
	r.refused(r.Server.Mark(r.ctx, target(vm)), vsphere.KindForeign)
}

func anotherInstallation(r *run) {
	const another = "inst-2"
	vm := r.clone(0)
	r.refused(r.Server.Restamp(r.ctx, vsphere.Target{VM: vm.Ref, ID: vsphere.GroupID{Installation: another, Member: id.Member, Group: id.Group}}, another),
		vsphere.KindForeign)
	r.ok(r.Server.Restamp(r.ctx, target(vm), another))
	stampedBy := func(installation string) func(vsphere.Observation) bool {
		return func(o vsphere.Observation) bool {
			return len(o.VMs) == 1 && o.VMs[0].Ref == vm.Ref && o.VMs[0].Stamp != nil && o.VMs[0].Stamp.Installation == installation
		}
	}
	theirs := r.settled("another installation's", vm.Ref, stampedBy(another)).VMs[0]
	for _, do := range []func(context.Context, vsphere.Target) error{
		r.Server.PowerOn, r.Server.PowerOff, r.Server.ShutdownGuest, r.Server.Mark, r.Server.Release, r.Server.Destroy,
	} {
		r.refused(do(r.ctx, target(vm)), vsphere.KindForeign)
	}
	from := target(theirs)
	from.ID.Installation = another
	r.ok(r.Server.Restamp(r.ctx, from, id.Installation))
	ours := r.settled("ours again", vm.Ref, stampedBy(id.Installation)).VMs[0]
	if *ours.Stamp != *vm.Stamp || ours.InstanceUUID != vm.InstanceUUID || ours.Folder != vm.Folder {
		r.t.Errorf("it was %+v with stamp %+v, and is %+v with stamp %+v", vm, *vm.Stamp, ours, *ours.Stamp)
	}
}

func left(r *run) {
	gone, moved := r.clone(0), r.clone(1)
	r.clone(2) // stays, because a suddenly empty inventory raises the alarm
	r.Person.Delete(r.folder, gone)
	r.Person.MoveOut(r.folder, moved)
	r.until("one was deleted and one was moved", func() bool {
		o := r.observe(gone.Ref, moved.Ref)
		return o.Complete && slices.Equal(o.Gone, []vsphere.Ref{gone.Ref}) &&
			slices.Equal(o.Elsewhere, []vsphere.Ref{moved.Ref}) && len(o.VMs) == 1
	})
	if err := r.Server.PowerOn(r.ctx, target(gone)); vsphere.KindOf(err) != vsphere.KindNotFound {
		r.t.Errorf("powering on a deleted VM: %v, want an error of kind %s", err, vsphere.KindNotFound)
	}
}

func registeredAgain(r *run) {
	away, back, gone := r.clone(0), r.clone(1), r.clone(2)
	r.clone(3) // stays, because a suddenly empty inventory raises the alarm
	outside := r.Person.Reregister(r.folder, away, true)
	inside := r.Person.Reregister(r.folder, back, false)
	r.Person.Delete(r.folder, gone)
	r.until("one was moved, one has another reference, and one was deleted", func() bool {
		o := r.seek(away, back, gone)
		at := o.Found[away.Ref]
		there := slices.ContainsFunc(o.VMs, func(vm vsphere.VM) bool {
			return vm.Ref == inside && vm.InstanceUUID == back.InstanceUUID && vm.Stamp != nil && *vm.Stamp == *back.Stamp
		})
		slices.SortFunc(o.Gone, func(a, b vsphere.Ref) int { return strings.Compare(a.Value, b.Value) })
		return o.Complete && there && slices.Equal(o.Elsewhere, []vsphere.Ref{away.Ref}) && slices.Contains(o.Gone, gone.Ref) && slices.Contains(o.Gone, back.Ref) &&
			at == (vsphere.Found{Ref: outside, Path: r.Person.OutsidePath + "/" + away.Name})
	})
}

func folderMovedOut(r *run) {
	vm := r.clone(0)
	if o := r.observe(vm.Ref); o.Folder.Place != path {
		r.t.Errorf("the folder lies at %+v, want %+v", o.Folder.Place, path)
	}
	r.Person.MoveFolderOut(r.folder)
	r.until("the folder is elsewhere", func() bool {
		o := r.observe(vm.Ref)
		return o.Complete && o.FolderElsewhere && !o.FolderGone && slices.Equal(o.Elsewhere, []vsphere.Ref{vm.Ref}) &&
			o.Folder == (vsphere.Folder{Ref: r.folder.Ref, Name: r.folder.Name})
	})
	r.refused(r.Server.Clone(r.ctx, r.request(1)), vsphere.KindConflict)
	if o := r.observe(vm.Ref); len(o.InFlight)+len(o.Failures) > 0 {
		r.t.Errorf("traces of a clone that was not sent: %+v", o)
	}
}

func names(r *run) {
	template, err := r.Server.Template(r.Template)
	r.ok(err)
	byPath, err := r.Server.Template(template.Path)
	r.ok(err)
	if template.Ref.IsZero() || template.Host == "" || byPath.Ref != template.Ref {
		r.t.Errorf("by name %+v, by path %+v", template, byPath)
	}
	all, err := r.Server.Templates()
	r.ok(err)
	if !slices.ContainsFunc(all, func(t vsphere.Template) bool { return t.Ref == template.Ref }) {
		r.t.Errorf("%s is not among all templates %+v", template.Path, all)
	}
	_, err = r.Server.Template("missing-template")
	r.refused(err, vsphere.KindNotFound)
	vm := r.clone(0)
	r.until("the VM is known not to be a template", func() bool {
		_, err := r.Server.Template(vm.Name)
		return vsphere.KindOf(err) == vsphere.KindNotTemplate
	})
	place, err := r.Server.Placement(vsphere.Placement{})
	r.ok(err)
	if place.ResourcePool.IsZero() || place.ResourcePoolPath == "" {
		r.t.Errorf("the default placement is %+v", place)
	}
	for _, p := range []vsphere.Placement{
		{ResourcePool: "missing-place"}, {Datastore: "missing-place"}, {Network: "missing-place"},
	} {
		_, err = r.Server.Placement(p)
		r.refused(err, vsphere.KindNotFound)
		if !strings.Contains(err.Error(), "missing-place") {
			r.t.Errorf("the message does not name what is missing: %v", err)
		}
	}
}

func slots(r *run) {
	first := r.Server.Acquire(id.Key(), "", 1)
	if first.Granted() != 1 {
		r.t.Fatalf("granted %d, want 1", first.Granted())
	}
	first.Release()
	first.Release()
	if running := r.Server.Health().RunningTasks; running != 0 {
		r.t.Errorf("%d tasks run, want 0", running)
	}
	r.clone(0)
	r.until("no task runs", func() bool { return r.Server.Health().RunningTasks == 0 })
}
