package govmomi_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
)

func TestLifeOfAVM(t *testing.T) {
	both(t, func(t *testing.T, mode govmomi.Mode) {
		r := newRig(t, mode).ensure()
		vm := r.clone(0)
		if vm.Name != "vg-0" || vm.CPU != 2 || vm.MemoryMiB != 128 || vm.Power != vsphere.PoweredOff || vm.Folder != r.folder.Ref {
			t.Errorf("cloned VM is %+v", vm)
		}
		want := r.request(0).Stamp
		if got := *vm.Stamp; got.GroupID != want.GroupID || got.Revision != want.Revision || got.Epoch != want.Epoch {
			t.Errorf("stamp is %+v, want %+v", got, want)
		}

		if empty, _ := r.server.EmptyGroupFolders(); len(empty) != 0 {
			t.Errorf("empty are %+v", empty)
		}
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		r.until("powered on", func() bool {
			o := r.observe()
			vm, _ := find(o, 0)
			return vm.Power == vsphere.PoweredOn && len(o.InFlight) == 0
		})
		must(t, r.server.PowerOn(r.ctx, target(vm)))
		r.until("powering on twice is no failure", func() bool { o := r.observe(); return len(o.InFlight) == 0 })
		if f := r.observe().Failures; len(f) > 0 {
			t.Errorf("failures: %+v", f)
		}

		wantKind(t, r.server.Destroy(r.ctx, target(vm)), vsphere.KindForeign) // not marked
		vm = r.settled(0)
		must(t, r.server.Mark(r.ctx, target(vm)))
		r.until("marked", func() bool { vm, _ := find(r.observe(), 0); return vm.Tombstone })
		r.until("mark settled", func() bool { return len(r.observe().InFlight) == 0 })
		wantKind(t, r.server.PowerOn(r.ctx, target(vm)), vsphere.KindConflict)
		wantKind(t, r.server.Destroy(r.ctx, target(vm)), vsphere.KindBusy) // running
		must(t, r.server.PowerOff(r.ctx, target(vm)))
		r.until("powered off", func() bool {
			o := r.observe()
			vm, _ := find(o, 0)
			return vm.Power == vsphere.PoweredOff && len(o.InFlight) == 0
		})
		must(t, r.server.Destroy(r.ctx, target(vm)))
		r.until("gone", func() bool {
			o := r.observe(vm.Ref)
			return len(o.Gone) == 1 && len(o.VMs) == 0 && len(o.InFlight) == 0
		})
		must(t, r.server.Destroy(r.ctx, target(vm))) // again: no error
		r.until("the folder is known to be empty", func() bool {
			empty, _ := r.server.EmptyGroupFolders()
			return len(empty) == 1 && empty[0].Ref == r.folder.Ref
		})
		must(t, r.server.DestroyFolder(r.ctx, r.folder.Ref))
		r.until("folder gone", func() bool { return r.observe().FolderGone })
		must(t, r.server.DestroyFolder(r.ctx, r.folder.Ref)) // again: no error

		r.stop()
		n, err := r.sim.Sessions(r.ctx)
		must(t, err)
		if n != 1 { // the user's VM
			t.Errorf("%d sessions are left, want 1", n)
		}
	})
}
