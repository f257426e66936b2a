package govmomi

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// TestWhatLeavesBeforeTheFirstAnswerOfAStreamIsCompleteHasLeft: our call creates a folder, and a read sees a VM, before
// a user destroys both. The stream reports that with the pages of its first response. The later results of the call and
// the read are older.
func TestWhatLeavesBeforeTheFirstAnswerOfAStreamIsCompleteHasLeft(t *testing.T) {
	root := vsphere.Folder{Ref: vsphere.FolderRef("group-v1"), Name: "vm-operator"}
	made := vsphere.Folder{Ref: vsphere.FolderRef("group-2"), Name: "web", Parent: root.Ref}
	vm := vsphere.VM{Ref: vsphere.VMRef("vm-1"), Name: "web-0", Folder: root.Ref, ChangeVersion: "7"}
	update := func(kind types.ObjectUpdateKind, ref vsphere.Ref, changes ...types.PropertyChange) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: kind, Obj: toRef(ref), ChangeSet: changes}
	}
	entered := update(types.ObjectUpdateKindEnter, made.Ref,
		types.PropertyChange{Name: propName, Val: made.Name}, types.PropertyChange{Name: propParent, Val: toRef(root.Ref)})
	for _, test := range []struct {
		name  string
		pages [][]types.ObjectUpdate
	}{
		{"on the last page", [][]types.ObjectUpdate{
			{entered}, {update(types.ObjectUpdateKindLeave, made.Ref), update(types.ObjectUpdateKindLeave, vm.Ref)},
		}},
		{"on a page before, and without having been shown", [][]types.ObjectUpdate{
			{update(types.ObjectUpdateKindLeave, made.Ref), update(types.ObjectUpdateKindLeave, vm.Ref)}, nil,
		}},
	} {
		s := New(Config{})
		s.index.SetRoot(root)
		s.index.ApplyListing(s.index.Begin(), nil, nil)
		f := &watchFeed{
			source: source{server: s, reader: reader{client: &vim25.Client{RoundTripper: silentVCenter{t}}, index: s.index}},
			began:  s.index.Begin(), shown: inventory.NewShown(),
		}
		call, read := s.index.Begin(), s.index.Begin()
		for i, page := range test.pages {
			if err := f.fill(t.Context(), page, i < len(test.pages)-1); err != nil {
				t.Fatal(err)
			}
		}
		s.index.Made(call, made)
		s.index.Upsert(read, []inventory.Seen{{VM: vm}}, nil)
		if got := s.index.Suspects(); !slices.Equal(got, []vsphere.Ref{made.Ref, vm.Ref}) {
			t.Errorf("%s: suspects are %v, want the folder and the VM", test.name, got)
		}
		if !f.shown.Complete() {
			t.Errorf("%s: the first answer is not complete", test.name)
		}
	}
}
