package govmomi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	disked = "disked"
	volume = "[LocalDS_0] fcd/volume.vmdk"
)

// withDisks is a rig with a template that has a disk in its snapshot and got another one later.
func withDisks(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, govmomi.Watch, resyncOften, func(o *sim.Options, _ *govmomi.Config) { o.Ordinary = append([]string{"db-prod-0"}, disked) }).ensure()
	must(t, r.person.AddDisk(r.ctx, "/DC0/vm/"+disked, "", ""))
	must(t, r.person.Snapshot(r.ctx, "/DC0/vm/"+disked))
	must(t, r.person.AddDisk(r.ctx, "/DC0/vm/"+disked, "", ""))
	must(t, r.person.MarkAsTemplate(r.ctx, "/DC0/vm/"+disked))
	r.until("the template is found", func() bool { _, err := r.server.Template(disked); return err == nil })
	return r
}

// doomed creates VMs of that template that can be destroyed; linked selects linked clones.
func (r *rig) doomed(vms int32, linked ...int32) []vsphere.VM {
	r.t.Helper()
	// A user who edits a template briefly converts it to a VM, and the watch can still be at that moment.
	var template vsphere.Template
	r.until("it is a template", func() (found bool) {
		var err error
		template, err = r.server.Template(disked)
		return err == nil
	})
	each := func(do func(ordinal int32)) {
		for ordinal := range vms {
			do(ordinal)
		}
	}
	each(func(ordinal int32) {
		req := r.request(ordinal)
		req.Template, req.Linked = template, slices.Contains(linked, ordinal)
		r.until("the template was read after it was one again", func() bool {
			err := r.server.Clone(r.ctx, req)
			if vsphere.KindOf(err) != vsphere.KindTransient {
				r.t.Fatal(err)
			}
			return err == nil
		})
	})
	each(func(ordinal int32) { must(r.t, r.server.Mark(r.ctx, target(r.settled(ordinal)))) })
	var out []vsphere.VM
	each(func(ordinal int32) {
		var vm vsphere.VM
		r.until("marked", func() bool { vm = r.settled(ordinal); return vm.Tombstone })
		out = append(out, vm)
	})
	return out
}

// destroyed destroys VMs.
func (r *rig) destroyed(vms ...vsphere.VM) {
	r.t.Helper()
	refs := make([]vsphere.Ref, 0, len(vms))
	for _, vm := range vms {
		must(r.t, r.server.Destroy(r.ctx, target(vm)))
		refs = append(refs, vm.Ref)
	}
	r.until("the VMs are deleted", func() bool { o := r.observe(refs...); return len(o.Gone) == len(refs) && len(o.InFlight) == 0 })
}

// heldFor checks that the disks prevent a VM's destruction, and returns them.
func (r *rig) heldFor(vm vsphere.VM) []vsphere.Disk {
	r.t.Helper()
	err := r.server.Destroy(r.ctx, target(vm))
	wantKind(r.t, err, vsphere.KindForeignDisk)
	var foreign *vsphere.ForeignDisks
	if !errors.As(err, &foreign) || foreign.ChangeVersion != vm.ChangeVersion || foreign.Path != vmPath+vm.Name {
		r.t.Fatalf("it is held by %+v", err)
	}
	if _, err := r.person.Disks(r.ctx, vmPath+vm.Name); err != nil {
		r.t.Errorf("the VM is not there any more: %v", err)
	}
	o := r.observe()
	if i := slices.IndexFunc(o.Failures, func(f vsphere.Failure) bool { return f.Ordinal == vm.Stamp.Ordinal }); len(o.InFlight) > 0 || i < 0 || o.Failures[i].Kind != vsphere.OpDestroy {
		r.t.Errorf("in flight is %+v, failed are %+v", o.InFlight, o.Failures)
	}
	return foreign.Disks
}

func TestAVMIsDestroyedWithTheDisksOfItsCloneOnly(t *testing.T) {
	r := withDisks(t)
	const other, third = "[LocalDS_0] fcd/other.vmdk", "[LocalDS_0] fcd/third.vmdk"
	// A clone copies its source's extraConfig: a list in the template describes the VM from which
	// the template was made.
	must(t, r.person.SetTemplate(r.ctx, "/DC0/vm/"+disked, map[string]string{inventory.KeyDisks: "v1;2000,2001,2002,2003"}))
	vms := r.doomed(4, 1)
	shown, err := r.person.VMs(r.ctx)
	must(t, err)
	for i, want := range []string{"v1;2000,2001", "v1;2000"} {
		if got := shown[vmPath+vms[i].Name].Extra[inventory.KeyDisks]; got != want {
			t.Errorf("%s carries %q, want %q", vms[i].Name, got, want)
		}
	}

	vm := vms[2]
	must(t, r.person.AddDisk(r.ctx, vmPath+vm.Name, volume, "6f1-2"))
	must(t, r.person.AddDisk(r.ctx, vmPath+vm.Name, other, ""))
	want := []vsphere.Disk{
		{Device: "disk-1000-2", Label: "disk-1000-2", File: volume, FirstClassID: "6f1-2"}, {Device: "disk-1000-3", Label: "disk-1000-3", File: other},
	}
	if d := r.heldFor(vm); !slices.Equal(d, want) {
		t.Errorf("held for %+v, want %+v", d, want)
	}
	must(t, r.person.DetachDisk(r.ctx, vmPath+vm.Name, volume))
	if d := r.heldFor(vm); !slices.Equal(d, want[1:]) {
		t.Errorf("held for %+v, want %+v", d, want[1:])
	}
	must(t, r.person.DetachDisk(r.ctx, vmPath+vm.Name, other))

	// The original disks of a VM of an older version, or of one whose list was removed, are
	// unknown: only First Class Disks hold it.
	old := vms[3]
	must(t, r.person.AddDisk(r.ctx, vmPath+old.Name, third, ""))
	must(t, r.person.Set(r.ctx, vmPath+old.Name, map[string]string{inventory.KeyDisks: ""}))
	must(t, r.person.AddDisk(r.ctx, vmPath+old.Name, "[LocalDS_0] fcd/fourth.vmdk", "6f1-3"))
	if d := r.heldFor(old); len(d) != 1 || d[0].FirstClassID != "6f1-3" {
		t.Errorf("without a list it is held for %+v", d)
	}
	must(t, r.person.DetachDisk(r.ctx, vmPath+old.Name, "[LocalDS_0] fcd/fourth.vmdk"))

	r.destroyed(vms...)
	for file, stays := range map[string]bool{volume: true, other: true, "[LocalDS_0] fcd/fourth.vmdk": true, third: false} {
		if got, err := r.person.HasFile(r.ctx, file); err != nil || got != stays {
			t.Errorf("%s is there: %t %v, want %t", file, got, err, stays)
		}
	}
}

// A VM that was cloned without a list of its disks could be destroyed with disks of others.
func TestNothingIsClonedFromATemplateThatWasNotReadLast(t *testing.T) {
	r := withDisks(t)
	template, err := r.server.Template(disked)
	must(t, err)
	must(t, r.person.MarkAsVM(r.ctx, "/DC0/vm/"+disked))
	r.until("the template is none any more", func() bool { _, err := r.server.Template(disked); return err != nil })
	req := r.request(0)
	req.Template = template
	if err := r.server.Clone(r.ctx, req); err == nil || vsphere.KindOf(err) != vsphere.KindTransient {
		t.Errorf("the clone is answered with %v", err)
	}
	if o := r.observe(); len(o.InFlight)+len(o.VMs) > 0 {
		t.Errorf("something was sent: %+v", o)
	}
	must(t, r.person.MarkAsTemplate(r.ctx, "/DC0/vm/"+disked))
	r.until("it is a template again", func() bool { _, err := r.server.Template(disked); return err == nil })
	must(t, r.server.Clone(r.ctx, req))
	vm := r.settled(0)
	shown, err := r.person.VMs(r.ctx)
	must(t, err)
	if got := shown[vmPath+vm.Name].Extra[inventory.KeyDisks]; got != "v1;2000,2001" {
		t.Errorf("it carries %q", got)
	}
}

func TestAMessageAboutDisksNamesThemAndTheWayOut(t *testing.T) {
	err := &vsphere.ForeignDisks{Path: "/DC0/vm/it's/web-0", Disks: []vsphere.Disk{
		{Device: "disk-1000-1", Label: "Hard disk 2", File: "[ds] fcd/a.vmdk", FirstClassID: "6f1-2"}, {Device: "disk-1000-2", File: "[ds] \nb.vmdk"},
		{Device: "disk-1000-3"}, {Device: "disk-1000-4", Label: strings.Repeat("long", 1000)}, {Device: "disk-1000-5"},
	}}
	message := err.Error()
	for _, want := range []string{
		`"Hard disk 2" in "[ds] fcd/a.vmdk", First Class Disk "6f1-2"`, `"[ds] \nb.vmdk"`, "2 more",
		`govc device.remove -vm '/DC0/vm/it'\''s/web-0' -keep disk-1000-1 disk-1000-2 disk-1000-3 disk-1000-4 disk-1000-5`,
	} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not say %q", message, want)
		}
	}
	if len(message) > 1000 {
		t.Errorf("the message has %d characters", len(message))
	}
}
