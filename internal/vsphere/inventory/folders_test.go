package inventory

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestANameIsNotLostThoughAListingShowsItsFormerFolder: during the listing, A was destroyed or
// renamed, and B was created with its name.
func TestANameIsNotLostThoughAListingShowsItsFormerFolder(t *testing.T) {
	x, _ := newIndex(0)
	a := vsphere.Folder{Ref: vsphere.FolderRef("group-a"), Name: "ns", Parent: root.Ref}
	b := a
	b.Ref = vsphere.FolderRef("group-b")
	x.ApplyListing(x.Begin(), nil, []vsphere.Folder{a})
	listing := x.Begin()
	x.Made(x.Begin(), b)
	x.ApplyListing(listing, nil, []vsphere.Folder{a})
	if got, ok := x.Child(root.Ref, "ns"); !ok || got.Ref != b.Ref {
		t.Errorf("the folder of the name is %v, want the one that was made last", got.Ref)
	}
	if got := x.Doubted(); !slices.Contains(got, a.Ref) || !slices.Contains(got, b.Ref) {
		t.Errorf("to be looked up are %v, want both folders of one name", got)
	}
	x.ApplyListing(x.Begin(), nil, []vsphere.Folder{b})
	if got, ok := x.Child(root.Ref, "ns"); !ok || got.Ref != b.Ref {
		t.Errorf("after a listing of B alone the folder of the name is %v, %t", got.Ref, ok)
	}
}

func TestPathsFollowTheParents(t *testing.T) {
	x, _ := newIndex(0)
	namespace := vsphere.Folder{Ref: vsphere.FolderRef("group-n"), Name: "ns", Parent: root.Ref}
	of := vsphere.Folder{Ref: vsphere.FolderRef("group-g"), Name: "vg", Parent: namespace.Ref}
	x.ApplyListing(x.Begin(), nil, []vsphere.Folder{of, namespace}) // children first
	q := vsphere.Query{ID: groupID, Folder: of.Ref}
	for _, step := range []struct {
		change func()
		path   string
	}{
		{func() {}, "/DC0/vm/vm-operator/ns/vg"},
		{func() { namespace.Name = "renamed" }, "/DC0/vm/vm-operator/renamed/vg"},
		{func() { namespace.Parent = folder.Ref }, "/DC0/vm/vm-operator/vg/renamed/vg"},
	} {
		step.change()
		x.Upsert(x.Begin(), nil, []vsphere.Folder{folder, namespace})
		if got := x.Group(q).Folder.Path; got != step.path {
			t.Errorf("the path is %s, want %s", got, step.path)
		}
	}
}

func TestTheGroupsBelowAreNotifiedOfARenameAndOfAMove(t *testing.T) {
	x, n := newIndex(0)
	namespace := vsphere.Folder{Ref: vsphere.FolderRef("group-n"), Name: "ns", Parent: root.Ref}
	of := vsphere.Folder{Ref: vsphere.FolderRef("group-g"), Name: "vg", Parent: namespace.Ref}
	list := func() { x.ApplyListing(x.Begin(), nil, []vsphere.Folder{folder, namespace, of}) }
	list()
	x.Group(vsphere.Query{ID: groupID, Folder: of.Ref})
	for name, change := range map[string]func(){
		"the folder is renamed":    func() { of.Name = "other" },
		"the folder is moved":      func() { of.Parent = folder.Ref },
		"the one above is renamed": func() { of.Parent = namespace.Ref; list(); namespace.Name = "ns2" },
		"the one above is moved":   func() { of.Parent = namespace.Ref; list(); namespace.Parent = folder.Ref },
		"no change":                nil,
	} {
		if change != nil {
			change()
		}
		n.groups = nil
		if list(); slices.Contains(n.groups, groupID.Key()) != (change != nil) {
			t.Errorf("%s: notified are %v", name, n.groups)
		}
	}
}

// TestAGroupWithoutAFolderIsNotifiedWhenTheOneAtItsPlaceIsGone: the group has observed that folder.
func TestAGroupWithoutAFolderIsNotifiedWhenTheOneAtItsPlaceIsGone(t *testing.T) {
	x, n := newIndex(0)
	member := vsphere.Folder{Ref: vsphere.FolderRef("group-m"), Name: "m", Parent: root.Ref}
	namespace := vsphere.Folder{Ref: vsphere.FolderRef("group-n"), Name: "ns", Parent: member.Ref}
	of := vsphere.Folder{Ref: vsphere.FolderRef("group-g"), Name: "vg", Parent: namespace.Ref}
	x.ApplyListing(x.Begin(), nil, []vsphere.Folder{member, namespace, of})
	q := vsphere.Query{ID: groupID, Path: vsphere.FolderPath{Member: "m", Namespace: "ns", Leaf: "vg"}}
	if got := x.Group(q).Folder; got.Ref != of.Ref || got.Path != "/DC0/vm/vm-operator/m/ns/vg" {
		t.Fatalf("the folder is %+v", got)
	}
	n.groups = nil
	if x.Left(of.Ref); !slices.Contains(n.groups, groupID.Key()) {
		t.Errorf("notified are %v", n.groups)
	}
}

// TestFoldersThatReadsHaveTiedIntoARingHaveAPath: each of the two was moved into the other, seen at different times.
func TestFoldersThatReadsHaveTiedIntoARingHaveAPath(t *testing.T) {
	x, _ := newIndex(0)
	a := vsphere.Folder{Ref: vsphere.FolderRef("group-a"), Name: "a", Parent: vsphere.FolderRef("group-b")}
	b := vsphere.Folder{Ref: vsphere.FolderRef("group-b"), Name: "b", Parent: vsphere.FolderRef("group-a")}
	x.Group(vsphere.Query{ID: groupID, Folder: b.Ref})
	x.Upsert(x.Begin(), nil, []vsphere.Folder{a, b})
	if got, ok := x.Folder(a.Ref); !ok || got.Path == "" {
		t.Errorf("the folder is %+v", got)
	}
}
