package govmomi

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// TestAVMThatBecomesATemplateBetweenTheTwoReadsOfAStreamIsATemplate: the first answer shows the VM before the conversion, the read of its details shows it after
// the conversion. The VM then has the new change version, and its configuration is not read again.
func TestAVMThatBecomesATemplateBetweenTheTwoReadsOfAStreamIsATemplate(t *testing.T) {
	m := newModel()
	vm := m.addVM(m.root, "web-0")
	s := New(Config{})
	s.index.SetRoot(vsphere.Folder{Ref: m.root, Name: "vm-operator"})
	f := &watchFeed{
		source: source{server: s, reader: reader{client: &vim25.Client{RoundTripper: oneVM{thing: vm}}, index: s.index}},
		shown:  inventory.NewShown(), began: s.index.Begin(),
	}
	enter := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: toRef(vm.ref)}
	for _, name := range baseProperties {
		enter.ChangeSet = append(enter.ChangeSet, types.PropertyChange{Name: name, Val: vm.property(name)})
	}
	vm.template, vm.uuid = true, "another"
	m.edited(vm)
	if err := f.fill(t.Context(), []types.ObjectUpdate{enter}, false); err != nil {
		t.Fatal(err)
	}
	want := vm.seen().VM
	if got, _ := s.index.VM(vm.ref); got.ChangeVersion != want.ChangeVersion || got.IsTemplate != want.IsTemplate || got.InstanceUUID != want.InstanceUUID {
		t.Errorf("with change version %s the VM is a template: %t, and has the UUID %q; with %s: %t, %q",
			got.ChangeVersion, got.IsTemplate, got.InstanceUUID, want.ChangeVersion, want.IsTemplate, want.InstanceUUID)
	}
}

// interrupted runs a function before it answers a read.
type interrupted struct {
	oneVM
	meanwhile func()
}

func (v interrupted) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	v.meanwhile()
	return v.oneVM.RoundTrip(ctx, req, res)
}

// TestAVMThatIsReadBeforeTheFirstListingIsNotASuspectAfterIt: the index does not know the VM's folder before the listing that shows both.
func TestAVMThatIsReadBeforeTheFirstListingIsNotASuspectAfterIt(t *testing.T) {
	for name, arrives := range map[string]bool{"the listing arrives after the read": false, "the listing arrives during the read": true} {
		m := newModel()
		group := m.addFolder(m.root, "web")
		vm := m.addVM(group.ref, "web-0")
		s := New(Config{})
		s.index.SetRoot(vsphere.Folder{Ref: m.root, Name: "vm-operator"})
		began := s.index.Begin()
		listed := func() {
			s.index.ApplyListing(began, []inventory.Seen{vm.seen()}, []vsphere.Folder{{Ref: group.ref, Name: group.name, Parent: group.parent}})
		}
		client := interrupted{oneVM: oneVM{thing: vm}, meanwhile: func() {
			if arrives {
				listed()
			}
		}}
		if err := s.reread(t.Context(), reader{client: &vim25.Client{RoundTripper: client}, index: s.index}, []vsphere.Ref{vm.ref}); err != nil {
			t.Fatal(err)
		}
		if _, asked := s.asked[vm.ref]; asked == arrives {
			t.Errorf("%s: the VM waits for a look-up: %t", name, asked)
		}
		if !arrives {
			listed()
		}
		if _, state := s.index.VM(vm.ref); state != inventory.Present {
			t.Errorf("%s: the VM is in state %d", name, state)
		}
	}
}

// TestAVMThatIsNotFoundBeforeTheFirstListingIsASuspect: a listing in progress can still show the VM.
func TestAVMThatIsNotFoundBeforeTheFirstListingIsASuspect(t *testing.T) {
	m := newModel()
	vm := m.addVM(m.root, "web-0")
	s := New(Config{})
	s.index.SetRoot(vsphere.Folder{Ref: m.root, Name: "vm-operator"})
	began := s.index.Begin()
	if err := s.reread(t.Context(), reader{client: &vim25.Client{RoundTripper: nothing{}}, index: s.index}, []vsphere.Ref{vm.ref}); err != nil {
		t.Fatal(err)
	}
	s.index.ApplyListing(began, []inventory.Seen{vm.seen()}, nil)
	if _, state := s.index.VM(vm.ref); state != inventory.Suspect {
		t.Errorf("a VM that was destroyed while a listing was read is in state %d", state)
	}
}

// nothing is an empty vCenter.
type nothing struct{}

func (nothing) RoundTrip(_ context.Context, _, res soap.HasFault) error {
	res.(*methods.RetrievePropertiesExBody).Res = &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{}}
	return nil
}
