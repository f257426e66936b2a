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
		got, _ := x.EmptyGroupFolders()
		if len(got) != len(want) {
			t.Fatalf("found %+v, want %v", got, want)
		}
		for i := range want {
			if got[i].Ref.Value != want[i] {
				t.Errorf("found %+v, want %v", got, want)
			}
		}
	}
	unknown := func(x *Index) {
		t.Helper()
		if got, known := x.EmptyGroupFolders(); known || len(got) > 0 {
			t.Errorf("known is %v, with %+v", known, got)
		}
	}
	x, _ := newIndex(0)
	unknown(x) // nothing was read yet
	ours := in(1, full, groupID)
	list(x, ours)
	found(x) // the empty one can belong to another installation without VMs
	was := in(5, empty, groupID)
	list(x, ours, was)
	x.Confirm(x.Begin(), was.Ref, Gone)
	list(x, ours)
	found(x, "e")
	if all, _ := x.EmptyGroupFolders(); all[0].FolderPath != (vsphere.FolderPath{Member: "team-a", Namespace: "shop", Leaf: "web.0a1b2c3d"}) || all[0].InventoryPath != "/DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d" {
		t.Errorf("the folder is reported as %+v", all[0])
	}
	// A missing VM can still exist.
	moved := ours
	moved.Ref = vsphere.VMRef("vm-2")
	moved.Folder = empty.Ref
	list(x, ours, moved)
	list(x, ours)
	found(x)
	x.Confirm(x.Begin(), moved.Ref, Gone)
	found(x, "e")
	// A VM without visible configuration, as during its clone, holds its own folder.
	unread := in(4, full, groupID)
	unread.Unread = true
	list(x, ours, unread)
	found(x, "e")
	inEmpty := in(6, empty, groupID)
	inEmpty.Unread = true
	list(x, ours, inEmpty)
	found(x)
	x.Confirm(x.Begin(), unread.Ref, Gone)
	list(x, ours)
	x.Confirm(x.Begin(), inEmpty.Ref, Gone)
	found(x, "e")
	// While a VM of another installation is below the root, the owner of every folder is unknown.
	foreign := in(3, full, vsphere.GroupID{Installation: "another", Member: "m", Group: "g"})
	list(x, ours, foreign)
	unknown(x)
	list(x, ours)
	x.Confirm(x.Begin(), foreign.Ref, Gone)
	found(x, "e")
	x.Invalidate("the connection was lost")
	unknown(x)
}

// TestAFolderIsOursOnceAVMOfOursWasSeenInIt: a folder does not show which installation created it,
// and an installation that shares the root folder can have no VM yet.
func TestAFolderIsOursOnceAVMOfOursWasSeenInIt(t *testing.T) {
	member := vsphere.Folder{Ref: vsphere.FolderRef("m"), Name: "team-a", Parent: root.Ref}
	namespace := vsphere.Folder{Ref: vsphere.FolderRef("n"), Name: "shop", Parent: member.Ref}
	folder := vsphere.Folder{Ref: vsphere.FolderRef("f"), Name: "web.0a1b2c3d", Parent: namespace.Ref}
	all := []vsphere.Folder{member, namespace, folder}
	stamped := vm(1, groupID)
	stamped.Folder = folder.Ref
	kept := stamped
	kept.Stamp, kept.Released = nil, &vsphere.ReleaseMark{GroupID: groupID, Namespace: "shop"}
	foreign := stamped
	foreign.Stamp = &vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "another", Member: "m", Group: "g"}}
	plain := stamped
	plain.Stamp = nil
	for name, c := range map[string]struct {
		show func(x *Index)
		ours bool
	}{
		"no VM":                     {func(*Index) {}, false},
		"a VM with our stamp":       {func(x *Index) { x.ApplyListing(x.Begin(), []Seen{stamped}, all) }, true},
		"one that was read first":   {func(x *Index) { x.Upsert(x.Begin(), []Seen{stamped}, nil) }, true},
		"one with our release mark": {func(x *Index) { x.ApplyListing(x.Begin(), []Seen{kept}, all) }, true},
		"one of another":            {func(x *Index) { x.ApplyListing(x.Begin(), []Seen{foreign}, all) }, false},
		"one of a person":           {func(x *Index) { x.ApplyListing(x.Begin(), []Seen{plain}, all) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := newIndex(0)
			c.show(x)
			x.ApplyListing(x.Begin(), nil, all)
			x.Confirm(x.Begin(), stamped.Ref, Gone)
			if got, _ := x.EmptyGroupFolders(); (len(got) == 1) != c.ours {
				t.Errorf("empty folders of ours are %+v", got)
			}
		})
	}
}
