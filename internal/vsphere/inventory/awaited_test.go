package inventory

import (
	"fmt"
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A user can write a status with other references each time, and vCenter answers more slowly than a member can write.
func TestReferencesThatAGroupKnowsNoMoreAreForgotten(t *testing.T) {
	x, _ := newIndex(0)
	dropped := make([]vsphere.Ref, 0, 49*100)
	for round := range 50 {
		known := make([]vsphere.Ref, 0, 100)
		for i := range cap(known) {
			known = append(known, vsphere.VMRef(fmt.Sprintf("vm-%d-%d", round, i)))
		}
		dropped = append(dropped, x.Group(query(known...)).Dropped...)
	}
	if len(x.waiting) != 100 || len(x.awaited) != 1 || len(dropped) != 49*100 {
		t.Errorf("groups wait for %d VMs, and %d were dropped", len(x.waiting), len(dropped))
	}
	if left := x.Forget(groupID.Key()); len(left) != 101 || len(x.waiting)+len(x.awaited) != 0 {
		t.Errorf("once the group is deleted, %d VMs and folders are dropped, of 101, and groups wait for %d", len(left), len(x.waiting))
	}
}

func TestAVMThatAnotherGroupWaitsForIsNotForgotten(t *testing.T) {
	x, n := newIndex(0)
	shared, another := vsphere.VMRef("vm-1"), vsphere.GroupID{Installation: "i", Member: "m", Group: "another"}
	x.Group(query(shared))
	x.Group(vsphere.Query{ID: another, Known: []vsphere.Ref{shared}})
	if dropped := x.Group(query(vsphere.VMRef("vm-2"))).Dropped; len(dropped) != 0 {
		t.Errorf("%v are dropped", dropped)
	}
	n.groups = nil
	if x.Confirm(x.Begin(), shared, Gone); !slices.Contains(n.groups, another.Key()) {
		t.Error("the other group is not notified of the verdict")
	}
}

func TestAFolderThatAGroupNamesNoMoreIsForgotten(t *testing.T) {
	x, _ := newIndex(0)
	dropped := make([]vsphere.Ref, 0, 49)
	for round := range 50 {
		dropped = append(dropped, x.Group(vsphere.Query{ID: groupID, Folder: vsphere.FolderRef(fmt.Sprintf("group-v%d", 1000+round))}).Dropped...)
	}
	if len(x.owners) != 1 || len(dropped) != 49 {
		t.Errorf("%d folders are asked for, and %d were dropped", len(x.owners), len(dropped))
	}
	if left := x.Forget(groupID.Key()); len(left) != 1 || len(x.owners)+len(x.unknownFolders) != 0 {
		t.Errorf("once the group is deleted, %d folders are dropped and %d asked for", len(left), len(x.owners))
	}
}
