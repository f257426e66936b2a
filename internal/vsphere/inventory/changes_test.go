package inventory

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestChangesOfOurVMsAreToldOnce(t *testing.T) {
	const mine = "hub"
	ref, id := vsphere.VMRef("vm-1"), vsphere.GroupID{Installation: mine, Member: "m", Group: "g"}
	known := vsphere.VM{
		Ref: ref, Name: "web-0", Folder: vsphere.FolderRef("group-v1"), Power: vsphere.PoweredOn, ChangeVersion: "1",
		Stamp: &vsphere.Stamp{GroupID: id},
	}
	put := func(change func(*vsphere.VM)) func(*Index) {
		return func(x *Index) {
			vm := clone(known)
			change(&vm)
			x.Upsert(x.Begin(), []Seen{{VM: vm}}, nil)
		}
	}
	foreign := func(vm *vsphere.VM) { vm.Stamp.Installation = "another" }
	off := func(vm *vsphere.VM) { vm.Power = vsphere.PoweredOff }
	gone := func(x *Index) { x.Left(ref); x.Confirm(x.Begin(), ref, Gone) }
	for _, test := range []struct {
		name  string
		first func(*vsphere.VM)
		then  func(*Index)
		want  vsphere.ChangeKind
	}{
		{"powered off", nil, put(off), vsphere.ChangePoweredOff},
		{"suspended", nil, put(func(vm *vsphere.VM) { vm.Power = vsphere.Suspended }), vsphere.ChangeSuspended},
		{"powered on", off, put(func(*vsphere.VM) {}), ""},
		{"renamed", nil, put(func(vm *vsphere.VM) { vm.Name, vm.ChangeVersion = "mine", "2" }), vsphere.ChangeRenamed},
		{"moved", nil, put(func(vm *vsphere.VM) { vm.Folder = vsphere.FolderRef("group-v2") }), vsphere.ChangeMoved},
		{"moved out", nil, func(x *Index) { x.Left(ref); x.ConfirmElsewhere(x.Begin(), Outside{Seen: Seen{VM: known}}) }, vsphere.ChangeMoved},
		{"resized", nil, put(func(vm *vsphere.VM) { vm.ChangeVersion, vm.CPU = "2", 4 }), vsphere.ChangeReconfigured},
		{"with another disk", nil, put(func(vm *vsphere.VM) { vm.ChangeVersion, vm.Devices = "2", 3 }), vsphere.ChangeReconfigured},
		{"another stamp", nil, put(func(vm *vsphere.VM) { vm.ChangeVersion, vm.Stamp.Revision = "2", "2-b" }), vsphere.ChangeReconfigured},
		{"with a snapshot, or on another host", nil, put(func(vm *vsphere.VM) { vm.ChangeVersion = "2" }), ""},
		{"an address is no change", nil, put(func(vm *vsphere.VM) { vm.GuestIP, vm.ToolsRunning = "192.0.2.1", true }), ""},
		{"deleted", nil, gone, vsphere.ChangeDeleted},
		{"missing is not deleted", nil, func(x *Index) { x.Left(ref) }, ""},
		{"deleted by us", nil, func(x *Index) { x.Leaving(ref); gone(x) }, ""},
		{"marked", nil, put(func(vm *vsphere.VM) { vm.Tombstone, vm.ChangeVersion = true, "2" }), ""},
		{"released", nil, put(func(vm *vsphere.VM) { vm.Stamp, vm.ChangeVersion = nil, "2" }), ""},
		{"of another installation", foreign, put(func(vm *vsphere.VM) { foreign(vm); off(vm) }), ""},
		{"powered off while its configuration is out of sight", nil, func(x *Index) {
			x.Upsert(x.Begin(), []Seen{{VM: vsphere.VM{Ref: ref, Power: vsphere.PoweredOff}, Unread: true}}, nil)
		}, vsphere.ChangePoweredOff},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &told{}
			x := New(Config{Installation: mine, Watcher: n, Now: n.Now})
			first := clone(known)
			if test.first != nil {
				test.first(&first)
			}
			x.ApplyListing(x.Begin(), []Seen{{VM: first}}, nil)
			if len(n.changes) > 0 {
				t.Errorf("a VM that is seen first has changed: %+v", n.changes)
			}
			test.then(x)
			x.ApplyListing(x.Begin(), nil, nil) // later updates report nothing again
			if told := n.changes; test.want == "" && len(told) > 0 || test.want != "" && (len(told) != 1 || told[0].Kind != test.want || told[0].Before.Name != "web-0") {
				t.Errorf("reported %+v, want %q", told, test.want)
			}
		})
	}
}
