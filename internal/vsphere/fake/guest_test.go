package fake_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

func TestWhatAGuestWritesIsOfOneLifeOfItsVM(t *testing.T) {
	r := newRig(t, fake.Options{AutoFinish: true})
	r.ok(r.clone(0))
	guest := func() vsphere.VM {
		o := r.Observe(vsphere.Query{ID: id, Folder: r.folder.Ref, GuestInfo: vsphere.GuestInfoQuery{Key: "guestinfo.ready", Value: "true"}})
		return o.VMs[0]
	}
	says := func(value string, known bool) {
		t.Helper()
		if vm := guest(); vm.GuestInfo != value || vm.GuestInfoKnown != known {
			t.Errorf("it says %q, known %v; want %q, %v", vm.GuestInfo, vm.GuestInfoKnown, value, known)
		}
	}
	hands := r.ByHand()
	hands.PowerOn("web-0")
	says("", true)
	r.notified = nil
	hands.WriteGuestInfo("web-0", "guestinfo.ready", "true")
	if len(r.notified) == 0 {
		t.Error("the group was not notified")
	}
	says("true", true)
	r.SetGuestInfoRead(false)
	says("", false)
	r.SetGuestInfoRead(true)
	first := guest().BootTime
	hands.PowerOff("web-0")
	says("", true)
	hands.PowerOn("web-0")
	says("", true)
	if vm := guest(); first.IsZero() || vm.BootTime.IsZero() {
		t.Errorf("it was powered on at %v and %v", first, vm.BootTime)
	}
}

func TestARunningVMTakesWhatTheOptionsAllow(t *testing.T) {
	for _, hot := range []vsphere.HotAdd{{}, {CPU: true, Memory: true}} {
		r := newRig(t, fake.Options{HotAdd: hot})
		req := vsphere.CloneRequest{Template: r.template, Folder: r.folder.Ref, Name: "web-0", CPU: 1, MemoryMiB: 1024, Stamp: vsphere.Stamp{GroupID: id, Revision: "2-a"}}
		r.ok(r.Clone(r.ctx, req))
		r.Step()
		r.ByHand().PowerOn("web-0")
		vm, _ := r.VM("web-0")
		r.ok(r.Reconfigure(r.ctx, vsphere.Reconfiguration{Target: target(vm), Revision: "2-b", CPU: 2, MemoryMiB: 2048}))
		if o := r.observe(); len(o.InFlight) != 1 || o.InFlight[0].Kind != vsphere.OpReconfigure {
			t.Errorf("in flight: %+v", o.InFlight)
		}
		r.refused(r.PowerOff(r.ctx, target(vm)), vsphere.KindBusy)
		r.Step()
		now, _ := r.VM("web-0")
		if done := now.CPU == 2 && now.MemoryMiB == 2048 && now.Stamp.Revision == "2-b"; done != hot.CPU {
			t.Errorf("with %+v it is %+v", hot, now)
		}
		failures := r.observe().Failures
		if hot.CPU && len(failures) > 0 || !hot.CPU && (len(failures) != 1 || vsphere.KindOf(failures[0].Err) != vsphere.KindOffOnly || failures[0].Revision != "2-b") {
			t.Errorf("with %+v failures are %+v", hot, failures)
		}
	}
}
