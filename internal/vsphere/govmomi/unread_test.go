package govmomi

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

func TestOnlyAKnownVMWithoutConfigurationMakesAnObservationIncomplete(t *testing.T) {
	dark := func(name string) vsphere.VM { return vsphere.VM{Ref: vsphere.VMRef(name), Name: name} }
	g := inventory.Group{Unread: []vsphere.VM{dark("recorded"), dark("stranger"), dark("cloning")}}
	if half, why := New(Config{}).takeHalfMade(vsphere.Query{Known: []vsphere.Ref{vsphere.VMRef("recorded")}}, &g, map[string]bool{"cloning": true}); len(half) != 0 || why != "" {
		t.Fatalf("half-made %v, %s", half, why)
	}
	known, unknown := unread(g, []vsphere.Ref{vsphere.VMRef("recorded")})
	if len(known) != 1 || known[0].Name != "recorded" || len(unknown) != 1 || unknown[0].Name != "stranger" {
		t.Fatalf("known %v, unknown %v", known, unknown)
	}
	known[0].Name, known[0].Folder = "web-0", vsphere.FolderRef("group-v1")
	if complete, why := conclusive(g, known, known[0].Folder); complete || !strings.Contains(why, "web-0") || !strings.Contains(why, "recorded") {
		t.Errorf("complete %v: %s", complete, why)
	}
	if complete, why := conclusive(g, known, vsphere.FolderRef("group-v2")); complete || strings.Contains(why, "web-0") || !strings.Contains(why, "recorded") {
		t.Errorf("the reason names a VM in another group's folder: complete %v: %s", complete, why)
	}
	if complete, why := conclusive(g, nil, vsphere.Ref{}); !complete {
		t.Errorf("an unknown VM hides the others: %s", why)
	}
}

// A host with one problem after another reports these, but not the configuration.
func TestNewsAboutTheHostOfAVMWithoutConfigurationDoesNotMakeItAVMWithoutAStamp(t *testing.T) {
	index := inventory.New(inventory.Config{Now: time.Now})
	folder := vsphere.Folder{Ref: vsphere.FolderRef("group-v2"), Name: "web", Parent: vsphere.FolderRef("group-v1")}
	index.SetRoot(vsphere.Folder{Ref: vsphere.FolderRef("group-v1"), Name: "vm-operator"})
	dark := vsphere.VM{Ref: vsphere.VMRef("vm-1"), Name: "web-0", Folder: folder.Ref}
	read := vsphere.VM{Ref: vsphere.VMRef("vm-2"), Name: "web-1", Folder: folder.Ref, ChangeVersion: "7"}
	index.ApplyListing(index.Begin(), []inventory.Seen{{VM: dark, Unread: true}, {VM: read}}, []vsphere.Folder{folder})
	f := &watchFeed{shown: inventory.NewShown()}
	for _, vm := range []vsphere.VM{dark, read} {
		vm.Connection = vsphere.Connected
		f.shown.PutVM(vm)
		if !f.show(types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: vm.Ref.Value},
			ChangeSet: []types.PropertyChange{{Name: propConnection, Val: types.VirtualMachineConnectionStateDisconnected}}}) {
			t.Errorf("the connection of %s is not taken for a base property", vm.Name)
		}
	}
	if unread := index.Show([]vsphere.VM{f.shown.VM(dark.Ref), f.shown.VM(read.Ref)}); !slices.Equal(unread, []vsphere.Ref{dark.Ref}) {
		t.Errorf("%v are to be read whole, want the VM whose configuration is not known alone", unread)
	}
	if vm, _ := index.VM(read.Ref); vm.Connected() || vm.ChangeVersion != "7" {
		t.Errorf("the VM that was read is %+v", vm)
	}
	if g := index.Group(vsphere.Query{Folder: folder.Ref}); len(g.Unread) != 1 || len(g.VMs) != 1 {
		t.Errorf("unread %v, read %v", g.Unread, g.VMs)
	}
}

// TestACloneIsHeldWhileItsVMShowsNoStamp: vCenter can show the configuration of a VM before its stamp, which a clone
// writes last. Without the operation, the VM would look foreign for a moment.
func TestACloneIsHeldWhileItsVMShowsNoStamp(t *testing.T) {
	s := New(Config{})
	root := vsphere.Folder{Ref: vsphere.FolderRef("group-v1"), Name: "vm-operator"}
	s.index.SetRoot(root)
	vm := vsphere.VM{Ref: vsphere.VMRef("vm-1"), Name: "web-0", Folder: root.Ref, ChangeVersion: "1", InstanceUUID: "u"}
	for _, stamp := range []*vsphere.Stamp{nil, {}} {
		vm.Stamp = stamp
		s.index.ApplyListing(s.index.Begin(), []inventory.Seen{{VM: vm}}, nil)
		want := operations.Held
		if stamp != nil {
			want = operations.Seen
		}
		if got := s.look(operations.Effect{Request: operations.Request{Kind: vsphere.OpClone, UUID: "u"}, VM: vm.Ref}); got != want {
			t.Errorf("with stamp %v its clone is %d, want %d", stamp, got, want)
		}
	}
}
