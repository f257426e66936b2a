package inventory

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestOnlyFoldersAtAGroupsPlaceInWhichNothingMayBeAreEmpty(t *testing.T) {
	sub := func(ref, name string, parent vsphere.Folder) vsphere.Folder {
		return vsphere.Folder{Ref: vsphere.FolderRef(ref), Name: name, Parent: parent.Ref}
	}
	member := sub("m", "team-a", root)
	namespace, lonely := sub("n", "shop", member), sub("l", "idle", member)
	empty, full, holder := sub("e", "web.0a1b2c3d", namespace), sub("f", "db.11111111", namespace), sub("h", "old.22222222", namespace)
	inner := sub("i", "notes", holder)
	folders := []vsphere.Folder{member, namespace, lonely, empty, full, holder, inner}
	in := func(i int, f vsphere.Folder, id vsphere.GroupID) Seen {
		seen := vm(i, id)
		seen.Folder = f.Ref
		return seen
	}
	list := func(x *Index, vms ...Seen) { x.ApplyListing(x.Begin(), vms, folders) }
	found := func(x *Index, want ...string) {
		t.Helper()
		got := x.EmptyGroupFolders()
		if len(got) != len(want) {
			t.Fatalf("found %+v, want %v", got, want)
		}
		for i := range want {
			if got[i].Ref.Value != want[i] {
				t.Errorf("found %+v, want %v", got, want)
			}
		}
	}
	x, _ := newIndex(0)
	found(x) // nothing was read yet
	ours := in(1, full, groupID)
	list(x, ours)
	found(x, "e")
	if got := x.EmptyGroupFolders()[0]; got.FolderPath != (vsphere.FolderPath{Member: "team-a", Namespace: "shop", Leaf: "web.0a1b2c3d"}) || got.InventoryPath != "/DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d" {
		t.Errorf("it is told as %+v", got)
	}
	// A VM that has gone missing may be there still.
	moved := ours
	moved.Ref = vsphere.VMRef("vm-2")
	moved.Folder = empty.Ref
	list(x, ours, moved)
	list(x, ours)
	found(x)
	x.Confirm(x.Begin(), moved.Ref, Gone)
	found(x, "e")
	// Somebody else's VM, or one that nobody can look into, may be another installation's: then no folder is known to be ours.
	foreign := in(3, full, vsphere.GroupID{Installation: "another", Member: "m", Group: "g"})
	list(x, ours, foreign)
	found(x)
	hidden := in(4, full, groupID)
	hidden.Unread = true
	list(x, ours, hidden)
	found(x)
	x.Invalidate("the connection was lost")
	found(x)
}
