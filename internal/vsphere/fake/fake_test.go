package fake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

var id = vsphere.GroupID{Installation: "inst", Member: "member", Group: "group"}

// rig is a fake with a template and a group's folder.
type rig struct {
	*fake.Server
	t        *testing.T
	ctx      context.Context
	template vsphere.Template
	folder   vsphere.Folder
	notified []string
}

// GroupChanged and ServerChanged record notifications.
func (r *rig) GroupChanged(group vsphere.GroupKey) { r.notified = append(r.notified, string(group)) }
func (r *rig) ServerChanged()                      { r.notified = append(r.notified, "server") }

func newRig(t *testing.T, opt fake.Options) *rig {
	t.Helper()
	r := &rig{t: t, ctx: vsphere.WithFence(t.Context(), func() error { return nil })}
	opt.Notifier = r
	r.Server = fake.New(opt)
	r.template = r.AddTemplate(vsphere.Template{Name: "debian-12"})
	var err error
	r.folder, err = r.EnsureFolder(r.ctx, vsphere.FolderPath{Member: "m", Namespace: "n", Leaf: "web.1"})
	r.ok(err)
	r.ClearJournal()
	r.notified = nil
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) refused(err error, kind vsphere.Kind) {
	r.t.Helper()
	if err == nil || vsphere.KindOf(err) != kind {
		r.t.Errorf("got %v, want an error of kind %s", err, kind)
	}
}

func (r *rig) clone(ordinal int32) error {
	return r.Clone(r.ctx, vsphere.CloneRequest{
		Template: r.template, Folder: r.folder.Ref, Name: fmt.Sprintf("web-%d", ordinal), UUID: fmt.Sprint("uuid-", ordinal),
		Stamp: vsphere.Stamp{GroupID: id, Ordinal: ordinal, Incarnation: 1},
	})
}

// cloned creates a VM and returns it.
func (r *rig) cloned(ordinal int32) vsphere.VM {
	r.t.Helper()
	r.ok(r.clone(ordinal))
	r.FinishOne(id.Key(), ordinal)
	vm, ok := r.VM(fmt.Sprintf("web-%d", ordinal))
	if !ok {
		r.t.Fatalf("web-%d was not cloned", ordinal)
	}
	return vm
}

func (r *rig) observe(known ...vsphere.VM) vsphere.Observation {
	refs := make([]vsphere.Ref, 0, len(known))
	for _, vm := range known {
		refs = append(refs, vm.Ref)
	}
	return r.Observe(vsphere.Query{ID: id, Folder: r.folder.Ref, Known: refs})
}

// calls checks the journal.
func (r *rig) calls(want ...string) {
	r.t.Helper()
	if got := r.Calls(); !slices.Equal(got, want) {
		r.t.Errorf("called %q, want %q", got, want)
	}
}

func target(vm vsphere.VM) vsphere.Target {
	return vsphere.Target{VM: vm.Ref, ID: id, Ordinal: vm.Stamp.Ordinal, Namespace: "n", ChangeVersion: vm.ChangeVersion}
}

func TestTasksEndWhenTheTestSaysSo(t *testing.T) {
	r := newRig(t, fake.Options{})
	for ordinal := range int32(3) {
		r.ok(r.clone(ordinal))
	}
	r.refused(r.clone(1), vsphere.KindBusy)
	if o := r.observe(); len(o.InFlight) != 3 || len(o.VMs) != 0 || r.Health().RunningTasks != 3 {
		t.Errorf("in flight %v, VMs %v", o.InFlight, o.VMs)
	}
	if !r.FinishOne(id.Key(), 2) || r.FinishOne(id.Key(), 2) {
		t.Error("the task of ordinal 2 did not end once")
	}
	if n := r.Finish(1); n != 1 || r.Pending() != 1 {
		t.Errorf("%d tasks ended, %d are left; want 1, 1", n, r.Pending())
	}
	if got, want := r.Tree(), "m/n/web.1/web-2 PoweredOff\nm/n/web.1/web-0 PoweredOff\n"; got != want {
		t.Errorf("inventory is\n%swant\n%s", got, want)
	}
	if r.Finish(-1) != 1 || r.Step() || r.Health().RunningTasks != 0 {
		t.Error("not all tasks have ended")
	}
	r.calls("Clone web-0", "Clone web-1", "Clone web-2", "Clone web-1: Busy")
	if !slices.Contains(r.notified, string(id.Key())) {
		t.Error("the group was not notified")
	}
}

func TestAutoFinish(t *testing.T) {
	r := newRig(t, fake.Options{AutoFinish: true})
	r.ok(r.clone(0))
	vm, _ := r.VM("web-0")
	r.ok(r.PowerOn(r.ctx, target(vm)))
	o := r.observe()
	if len(o.VMs) != 1 || o.VMs[0].Power != vsphere.PoweredOn || o.VMs[0].GuestIP == "" || !o.VMs[0].ToolsRunning {
		t.Errorf("observed %+v", o.VMs)
	}
	r.ok(r.ShutdownGuest(r.ctx, target(vm)))
	if vm, _ = r.VM("web-0"); vm.Power != vsphere.PoweredOff || vm.GuestIP != "" {
		t.Errorf("after the shutdown %+v", vm)
	}
}

func TestScriptedFailures(t *testing.T) {
	r := newRig(t, fake.Options{})
	full := &vsphere.Error{Kind: vsphere.KindCapacity, Err: errors.New("no room")}
	r.FailSubmit(vsphere.OpClone, 1, full)
	r.FailTask(vsphere.OpClone, 1, full)
	r.refused(r.clone(0), vsphere.KindCapacity)
	if f := r.observe().Failures; len(f) != 1 || f[0].Count != 1 {
		t.Errorf("failures %+v", f)
	}
	r.ok(r.clone(0))
	r.Step()
	f := r.observe().Failures
	if len(f) != 1 || f[0].Count != 2 || vsphere.KindOf(f[0].Err) != vsphere.KindCapacity || !f[0].RetryAt.After(f[0].At) {
		t.Errorf("failures %+v", f)
	}
	r.cloned(0)
	if f := r.observe().Failures; len(f) != 0 {
		t.Errorf("a success left failures %+v", f)
	}
	r.calls("Clone web-0: Capacity", "Clone web-0", "Clone web-0")
}

func TestLostReplies(t *testing.T) {
	for _, happens := range []bool{true, false} {
		t.Run(fmt.Sprint(happens), func(t *testing.T) {
			r := newRig(t, fake.Options{AutoFinish: true})
			r.LoseReply(vsphere.OpClone, 1, happens)
			r.ok(r.clone(0))
			if o := r.observe(); len(o.InFlight) != 1 || !o.InFlight[0].OutcomeUnknown || len(o.VMs) != 0 {
				t.Errorf("observed %+v", o)
			}
			r.refused(r.clone(0), vsphere.KindBusy)
			r.Step()
			o := r.observe()
			if len(o.InFlight) != 0 || len(o.Failures) != 0 || (len(o.VMs) == 1) != happens {
				t.Errorf("observed in the end %+v", o)
			}
			path := vsphere.FolderPath{Member: "m", Namespace: "n", Leaf: "other"}
			r.LoseReply(fake.OpEnsureFolder, 1, happens)
			_, err := r.EnsureFolder(r.ctx, path)
			if !vsphere.IsOutcomeUnknown(err) {
				t.Errorf("got error %v, want one with an unknown outcome", err)
			}
			r.ClearJournal()
			_, err = r.EnsureFolder(r.ctx, path)
			r.ok(err)
			if made := len(r.Journal()) == 0; made != happens {
				t.Errorf("the folder was made: %v, want %v", made, happens)
			}
		})
	}
}

func TestUnreachableAndIncomplete(t *testing.T) {
	r := newRig(t, fake.Options{})
	vm := r.cloned(0)
	check := func(complete bool) {
		t.Helper()
		o, h := r.observe(vm), r.Health()
		if o.Complete != complete || h.Complete != complete || (o.Incomplete == "") != complete || len(o.Gone) != 0 {
			t.Errorf("health %+v, observed %+v; want complete: %v", h, o, complete)
		}
	}
	check(true)
	r.notified = nil
	r.Disconnect(&vsphere.Error{Kind: vsphere.KindCredentials, Op: "log in"})
	if h := r.Health(); h.Reachable || vsphere.KindOf(h.Err) != vsphere.KindCredentials {
		t.Errorf("health %+v", h)
	}
	check(false)
	r.refused(r.PowerOn(r.ctx, target(vm)), vsphere.KindCredentials)
	r.refused(r.DestroyFolder(r.ctx, r.folder.Ref), vsphere.KindCredentials)
	r.Reconnect()
	check(true)
	r.SetIncomplete("two VMs cannot be read")
	check(false)
	r.SetIncomplete("")
	r.SetSuddenlyEmpty(true)
	check(false)
	r.SetSuddenlyEmpty(false)
	check(true)
	if len(r.notified) != 6 {
		t.Errorf("notified %v, want of all 6 changes", r.notified)
	}
}

func TestSuspectUntilConfirmed(t *testing.T) {
	r := newRig(t, fake.Options{})
	late, deleted := r.cloned(0), r.cloned(1)
	r.DelayConfirmations()
	r.Hide("web-0")
	r.ByHand().Delete("web-1")
	if o := r.observe(late, deleted); len(o.VMs)+len(o.Gone)+len(o.Elsewhere) != 0 {
		t.Errorf("observed %+v, want two suspects", o)
	}
	r.notified = nil
	r.Confirm()
	if o := r.observe(late, deleted); !slices.Equal(o.Gone, []vsphere.Ref{deleted.Ref}) || len(o.VMs) != 0 {
		t.Errorf("observed %+v, want web-1 gone and web-0 suspect", o)
	}
	if !slices.Equal(r.notified, []string{string(id.Key())}) {
		t.Errorf("notified %v, want the group", r.notified)
	}
	r.Show("web-0")
	if o := r.observe(late); len(o.VMs) != 1 {
		t.Errorf("observed %+v", o)
	}
}

func TestByHand(t *testing.T) {
	r := newRig(t, fake.Options{})
	vm := r.cloned(0)
	hands := r.ByHand()
	r.observe() // shows the owner of the folder
	for _, tc := range []struct {
		what string
		do   func()
		want string
	}{
		{"power on", func() { hands.PowerOn("web-0") }, "m/n/web.1/web-0 PoweredOn\n"},
		{"power off", func() { hands.PowerOff("web-0") }, "m/n/web.1/web-0 PoweredOff\n"},
		{"rename", func() { hands.Rename("web-0", "x") }, "m/n/web.1/x PoweredOff\n"},
		{"move out", func() { hands.MoveOut("x") }, ""},
		{"move in", func() { hands.MoveInto("x", r.folder.Ref) }, "m/n/web.1/x PoweredOff\n"},
		{"copy", func() { hands.CopyVM("x", "y") }, "m/n/web.1/x PoweredOff\nm/n/web.1/y PoweredOff\n"},
		{"delete", func() { hands.Delete("x") }, "m/n/web.1/y PoweredOff\n"},
		{"add", func() { hands.AddForeignVM(r.folder.Ref, "z") }, "m/n/web.1/y PoweredOff\nm/n/web.1/z PoweredOn\n"},
		{"delete folder", func() { hands.DeleteFolder(r.folder.Parent) }, ""},
	} {
		r.notified = nil
		tc.do()
		if got := r.Tree(); got != tc.want {
			t.Errorf("%s: inventory is\n%swant\n%s", tc.what, got, tc.want)
		}
		if !slices.Contains(r.notified, string(id.Key())) {
			t.Errorf("%s: the group was not notified", tc.what)
		}
	}
	if o := r.observe(vm); !o.FolderGone || len(o.Gone) != 1 {
		t.Errorf("observed in the end %+v", o)
	}
	r.calls("Clone web-0") // the manual change is not in the operator's journal
}

func TestAGroupIsToldOfAVMThatItReleasedAndAHiddenOneStaysReleased(t *testing.T) {
	r := newRig(t, fake.Options{AutoFinish: true})
	vm := r.cloned(0)
	r.ok(r.Release(r.ctx, target(vm)))
	r.ByHand().MoveInto("web-0", r.Root()) // no notification because of the folder
	for what, do := range map[string]func(){
		"renamed": func() { r.ByHand().Rename("web-0", "mine") },
		"hidden":  func() { r.Hide(vm.Ref.Value) },
	} {
		r.notified = nil
		do()
		if o := r.observe(); !o.Complete || len(o.VMs) > 0 || len(o.Released) != 1 || !slices.Contains(r.notified, string(id.Key())) {
			t.Errorf("%s: observed %+v, notified %q", what, o, r.notified)
		}
	}
	r.HideConfiguration(vm.Ref.Value)
	if o := r.observe(); len(o.Released) > 0 {
		t.Errorf("a mark that cannot be read is observed: %+v", o.Released)
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t, fake.Options{})
	vm := r.cloned(0)
	stale := target(vm)
	r.ByHand().Rename("web-0", "other")
	r.refused(r.Mark(r.ctx, stale), vsphere.KindConflict)
	r.refused(r.Release(r.ctx, stale), vsphere.KindConflict)
	r.ByHand().PowerOn("other")
	vm, _ = r.VM("other")
	r.ok(r.Mark(r.ctx, target(vm)))
	r.Step()
	vm, _ = r.VM("other")
	r.refused(r.Destroy(r.ctx, target(vm)), vsphere.KindBusy) // it runs
	r.ByHand().PowerOff("other")
	r.refused(r.PowerOn(r.ctx, target(vm)), vsphere.KindConflict) // never revived
	r.ByHand().MoveOut("other")
	r.refused(r.Destroy(r.ctx, target(vm)), vsphere.KindForeign)
	r.refused(r.DestroyFolder(r.ctx, r.Root()), vsphere.KindForeign)
	if _, ok := r.VM("other"); !ok {
		t.Error("the VM was deleted")
	}
}

func TestCloneIntoAFolderThatWent(t *testing.T) {
	r := newRig(t, fake.Options{})
	r.ok(r.clone(0))
	r.RemoveTemplate("debian-12")
	r.refused(r.clone(1), vsphere.KindNotFound)
	r.ok(r.DestroyFolder(r.ctx, r.folder.Ref)) // a running clone is not visible in it
	r.Step()
	f := r.observe().Failures
	if len(f) != 2 || vsphere.KindOf(f[0].Err) != vsphere.KindNotFound || len(r.VMs()) != 0 {
		t.Errorf("failures %+v", f)
	}
}

func TestOtherOperationsOvertakeAShutdown(t *testing.T) {
	r := newRig(t, fake.Options{ManualGuest: true})
	vm := r.cloned(0)
	r.ByHand().PowerOn("web-0")
	r.refused(r.ShutdownGuest(r.ctx, target(vm)), vsphere.KindTransient) // no VMware Tools
	r.ByHand().Edit("web-0", func(vm *vsphere.VM) { vm.ToolsRunning = true })
	r.ok(r.ShutdownGuest(r.ctx, target(vm)))
	r.refused(r.ShutdownGuest(r.ctx, target(vm)), vsphere.KindBusy)
	r.ok(r.PowerOff(r.ctx, target(vm)))
	if r.Finish(-1) != 1 {
		t.Error("want one operation in flight")
	}
}

func TestCatalog(t *testing.T) {
	r := newRig(t, fake.Options{Defaults: vsphere.Placement{Datastore: "fast"}})
	r.AddTemplate(vsphere.Template{Name: "debian-12", Path: "/DC0/vm/old/debian-12"})
	_, err := r.Template("debian-12")
	r.refused(err, vsphere.KindAmbiguous)
	got, err := r.Template("old/debian-12")
	r.ok(err)
	if got.Path != "/DC0/vm/old/debian-12" {
		t.Errorf("found %+v", got)
	}
	_, err = r.Placement(vsphere.Placement{})
	r.refused(err, vsphere.KindNotFound)
	fast := r.AddPlace(fake.Datastore, "/DC0/datastore/fast")
	place, err := r.Placement(vsphere.Placement{Network: "network"})
	r.ok(err)
	if place.Datastore != fast || place.NetworkPath != "/DC0/network/network" || place.ResourcePool.IsZero() {
		t.Errorf("placed %+v", place)
	}
	r.SetCatalogRead(false)
	_, err = r.Template("debian-12")
	r.refused(err, vsphere.KindTransient)
	_, err = r.Placement(vsphere.Placement{})
	r.refused(err, vsphere.KindTransient)
}

func TestSlotsAndJournal(t *testing.T) {
	r := newRig(t, fake.Options{Limits: budget.Limits{Tasks: 2}, Now: func() time.Time { return time.Unix(1, 0) }})
	slots := r.Acquire(id.Key(), r.template.Host, 5)
	if slots.Granted() != 2 {
		t.Fatalf("granted %d, want 2", slots.Granted())
	}
	for ordinal := range int32(3) {
		r.ok(r.clone(ordinal))
	}
	journal := r.Journal()
	budgeted := make([]bool, 0, len(journal))
	for _, e := range journal {
		budgeted = append(budgeted, e.Budgeted)
	}
	if !slices.Equal(budgeted, []bool{true, true, false}) {
		t.Errorf("budgeted %v: the third call had no slot", budgeted)
	}
	slots.Release()
	r.notified = nil
	r.Finish(-1)
	if r.Acquire(id.Key(), r.template.Host, 5).Granted() != 2 {
		t.Error("ended tasks keep their slots")
	}
}

func TestServers(t *testing.T) {
	var servers vsphere.Servers = fake.Servers{"default": fake.New(fake.Options{})}
	if s, ok := servers.Server("default"); !ok || s == nil {
		t.Error("default is not found")
	}
	if s, ok := servers.Server("other"); ok || s != nil {
		t.Error("other is found")
	}
}
