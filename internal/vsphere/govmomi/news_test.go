package govmomi

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// silentVCenter fails a test that calls it.
type silentVCenter struct{ t *testing.T }

func (v silentVCenter) RoundTrip(_ context.Context, req, _ soap.HasFault) error {
	v.t.Errorf("vCenter is asked for %T", req)
	return errUnreadable
}

// TestTwoUpdatesOfAVMInOneAnswerAreAppliedOneAfterTheOther: a VM is powered off, and then loses its address.
func TestTwoUpdatesOfAVMInOneAnswerAreAppliedOneAfterTheOther(t *testing.T) {
	s := New(Config{})
	root := vsphere.Folder{Ref: vsphere.FolderRef("group-v1"), Name: "vm-operator"}
	s.index.SetRoot(root)
	vm := vsphere.VM{Ref: vsphere.VMRef("vm-1"), Name: "web-0", Folder: root.Ref, ChangeVersion: "7", Power: vsphere.PoweredOn, GuestIP: "192.0.2.1"}
	s.index.ApplyListing(s.index.Begin(), []inventory.Seen{{VM: vm}}, nil)
	f := &watchFeed{source: source{server: s, reader: reader{client: &vim25.Client{RoundTripper: silentVCenter{t}}, index: s.index}}, shown: inventory.NewShown()}
	f.shown.PutVM(vm)
	f.shown.Completed()
	update := func(name string, val any) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: toRef(vm.Ref), ChangeSet: []types.PropertyChange{{Name: name, Val: val}}}
	}
	err := f.news(t.Context(), s.index.Begin(), []types.ObjectUpdate{update(propPower, types.VirtualMachinePowerStatePoweredOff), update(propGuestIP, nil)})
	if got, _ := s.index.VM(vm.Ref); err != nil || got.Power != vsphere.PoweredOff || got.GuestIP != "" {
		t.Errorf("the VM is %s with address %q (%v), want off without one", got.Power, got.GuestIP, err)
	}
}

// oneVM answers each read with one VM, one property of which it cannot return.
type oneVM struct {
	thing *thing
	fault string
}

func (v oneVM) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	read, ok := req.(*methods.RetrievePropertiesExBody)
	if !ok {
		return fmt.Errorf("a call of %T", req)
	}
	content := types.ObjectContent{Obj: toRef(v.thing.ref)}
	for _, name := range paths(read.Req.SpecSet[0].PropSet, v.thing.ref.Type) {
		switch value := v.thing.property(name); {
		case name == v.fault:
			content.MissingSet = append(content.MissingSet, types.MissingProperty{Path: name, Fault: types.LocalizedMethodFault{Fault: &types.SystemError{}}})
		case value != nil:
			content.PropSet = append(content.PropSet, types.DynamicProperty{Name: name, Val: value})
		}
	}
	res.(*methods.RetrievePropertiesExBody).Res = &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{Objects: []types.ObjectContent{content}}}
	return nil
}

// TestAFaultOnAnyPropertyOfStampOrMarkMakesAVMUnread: an unreadable value is not empty. Otherwise a
// recorded VM would count as released, and another would be cloned.
func TestAFaultOnAnyPropertyOfStampOrMarkMakesAVMUnread(t *testing.T) {
	m := newModel()
	vm := m.addVM(m.root, "web-0")
	id := vsphere.GroupID{Installation: "inst", Member: "m", Group: "g"}
	kvs, err := inventory.EncodeStamp(vsphere.Stamp{GroupID: id, Revision: "1-a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range kvs {
		vm.extra[kv.Key] = kv.Value
	}
	for _, fault := range append(slices.Clone(stampProperties), "") {
		s := New(Config{Installation: "inst"})
		s.index.SetRoot(vsphere.Folder{Ref: m.root, Name: "vm-operator"})
		s.index.ApplyListing(s.index.Begin(), nil, nil)
		if err := s.reread(t.Context(), reader{client: &vim25.Client{RoundTripper: oneVM{thing: vm, fault: fault}}, index: s.index}, []vsphere.Ref{vm.ref}); err != nil {
			t.Fatal(err)
		}
		g := s.index.Group(vsphere.Query{ID: id, Folder: m.root, Known: []vsphere.Ref{vm.ref}})
		if want := fault == ""; (len(g.VMs) == 1) != want || (len(g.Unread) == 1) == want {
			t.Errorf("with a fault on %q there are VMs %v and unread %v", fault, g.VMs, g.Unread)
		}
		// Values read before stay.
		s.index.Upsert(s.index.Begin(), []inventory.Seen{vm.seen()}, nil)
		if err := s.reread(t.Context(), reader{client: &vim25.Client{RoundTripper: oneVM{thing: vm, fault: fault}}, index: s.index}, []vsphere.Ref{vm.ref}); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.index.VM(vm.ref); got.Stamp == nil || got.Stamp.GroupID != id {
			t.Errorf("with a fault on %q the stamp that was known is %v", fault, got.Stamp)
		}
	}
}

func TestADifferenceIsLookedUpOnceAndWhatCouldNotBeReadAgain(t *testing.T) {
	folder, vm, dark := inventory.Difference{Ref: vsphere.FolderRef("group-1"), Version: 1}, inventory.Difference{Ref: vsphere.VMRef("vm-1"), Version: 1, Both: true},
		inventory.Difference{Ref: vsphere.VMRef("vm-2"), Version: 1, Both: true, Unread: true}
	all := []inventory.Difference{folder, vm, dark}
	var c comparison
	if both, one, unread := c.look(all, false); !slices.Equal(both, []vsphere.Ref{vm.Ref, dark.Ref}) || !slices.Equal(one, []vsphere.Ref{folder.Ref}) || !unread {
		t.Errorf("first: %v, %v, %t", both, one, unread)
	}
	if both, one, unread := c.look(all, false); len(both)+len(one) > 0 || !unread {
		t.Errorf("the same once more: %v, %v, %t", both, one, unread)
	}
	if both, one, _ := c.look(all, true); !slices.Equal(both, []vsphere.Ref{dark.Ref}) || len(one) > 0 {
		t.Errorf("after a pause: %v, %v", both, one)
	}
	all[1].Version = 2
	if both, _, _ := c.look(all, false); !slices.Equal(both, []vsphere.Ref{vm.Ref}) {
		t.Errorf("after it has changed: %v", both)
	}
	if _, _, unread := c.look(nil, false); unread {
		t.Error("nothing differs, and something is unread")
	}
}
