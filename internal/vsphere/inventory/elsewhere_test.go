package inventory

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAGroupIsToldTheFateOfAVMThatOnlyItsStatusKnows(t *testing.T) {
	x, n := newIndex(0)
	x.list()
	ref := vsphere.VMRef("vm-9") // deleted or moved while no operator ran: its owner is unknown
	for _, verdict := range []State{Elsewhere, Gone} {
		x.Group(query(ref))
		n.groups = nil
		x.Confirm(x.Begin(), ref, verdict)
		if !slices.Contains(n.groups, groupID.Key()) {
			t.Errorf("the group was not notified that its VM is in state %d", verdict)
		}
	}
	if len(x.waiting) > 0 {
		t.Errorf("still waiting for the fate of %v", x.waiting)
	}
}

func TestAGroupIsToldThatItsFolderWasMovedOutAndCameBack(t *testing.T) {
	x, n := newIndex(0)
	x.list()
	x.Group(query())
	n.groups = nil
	x.Confirm(x.Begin(), folder.Ref, Elsewhere)
	if g := x.Group(query()); !g.FolderElsewhere || g.FolderGone || len(n.groups) == 0 {
		t.Errorf("moved out: %+v, notified %v", g, n.groups)
	}
	if got := x.Elsewhere(); !slices.Equal(got, []vsphere.Ref{folder.Ref}) {
		t.Errorf("elsewhere are %v", got)
	}
	n.groups = nil
	x.Upsert(x.Begin(), nil, []vsphere.Folder{folder})
	if g := x.Group(query()); g.FolderElsewhere || len(n.groups) == 0 {
		t.Errorf("back: %+v, notified %v", g, n.groups)
	}
}

func TestAFolderOutsideOfTheRootIsKnownByItsNameThoughItWasNeverBelowTheRoot(t *testing.T) {
	x, n := newIndex(0)
	x.list()
	other := vsphere.Folder{Ref: vsphere.FolderRef("group-99"), Name: "others", Parent: vsphere.FolderRef("group-98")}
	q := vsphere.Query{ID: groupID, Folder: other.Ref}
	x.Group(q)
	for _, name := range []string{"others", "renamed"} {
		other.Name, n.groups = name, nil
		x.ConfirmFolderElsewhere(x.Begin(), other)
		if g := x.Group(q); !g.FolderElsewhere || g.Folder != (vsphere.Folder{Ref: other.Ref, Name: name}) || len(n.groups) == 0 {
			t.Errorf("%s: %+v, notified %v", name, g, n.groups)
		}
	}
	x.ConfirmFolderElsewhere(x.Begin(), vsphere.Folder{Ref: folder.Ref, Name: folder.Name})
	if _, ok := x.Child(folder.Parent, folder.Name); ok {
		t.Error("a folder that was moved out is found in the folder that it was in")
	}
}

func TestAGroupIsToldThatAVerdictIsForgotten(t *testing.T) {
	x, n := newIndex(0)
	a := vm(1, groupID)
	x.list(a)
	x.Confirm(x.Begin(), a.Ref, Elsewhere)
	n.clock = n.clock.Add(keepVerdict)
	x.list()
	if g := x.Group(query(a.Ref)); len(g.Elsewhere) != 1 {
		t.Fatalf("forgotten too early: %+v", g)
	}
	n.groups = nil
	n.clock = n.clock.Add(keepVerdict + 1)
	x.list()
	if g := x.Group(query(a.Ref)); len(g.Elsewhere) != 0 || !slices.Equal(g.Ask, []vsphere.Ref{a.Ref}) || len(n.groups) == 0 {
		t.Errorf("after it was forgotten: %+v, notified %v", g, n.groups)
	}
}

func TestEverybodyIsToldWhenTheReasonOfIncompletenessChanges(t *testing.T) {
	x, n := newIndex(0)
	x.list(vm(1, groupID), vm(2, groupID))
	x.Group(query())
	x.Invalidate("vCenter is not reachable")
	n.groups, n.server = nil, 0
	x.list() // reachable again, and suddenly empty: incomplete before and after
	if ok, why := x.Complete(); ok || why != suddenlyEmpty {
		t.Fatalf("complete %t, %q", ok, why)
	}
	if n.server != 1 || !slices.Contains(n.groups, groupID.Key()) {
		t.Errorf("notified: groups %v, server %d times", n.groups, n.server)
	}
}
