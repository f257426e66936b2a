package inventory

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestAGroupIsNotifiedOfTheFateOfAVMWhoseConfigurationWasNeverRead: it is in a folder of another
// group, and its stamp cannot identify the group.
func TestAGroupIsNotifiedOfTheFateOfAVMWhoseConfigurationWasNeverRead(t *testing.T) {
	x, n := newIndex(0)
	dark := Seen{VM: vsphere.VM{Ref: vsphere.VMRef("vm-9"), Name: "vg-9", Folder: root.Ref}, Unread: true}
	x.list(dark)
	if g := x.Group(query(dark.Ref)); len(g.Unread) != 1 {
		t.Fatalf("the group sees %+v", g)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"it is renamed", func() { dark.Name = "other"; x.list(dark) }},
		{"it is missing", func() { x.Left(dark.Ref) }},
		{"it is deleted", func() { x.Confirm(x.Begin(), dark.Ref, Gone) }},
	} {
		n.groups = nil
		if step.do(); !slices.Contains(n.groups, groupID.Key()) {
			t.Errorf("%s: the group is not notified", step.name)
		}
		x.Group(query(dark.Ref))
	}
}

func TestAVMWithoutAVerdictCountsAsOneOfOurs(t *testing.T) {
	x, _ := newIndex(0)
	a := vm(1, groupID)
	x.list(a)
	for name, vanish := range map[string]func(){"it is not in a listing": func() { x.list() }, "it left": func() { x.Left(a.Ref) }} {
		x.list(a)
		vanish()
		if complete, _ := x.Complete(); !complete || x.Stamped() != 1 || len(x.Owned(x.OwnedGroups()...)) != 1 {
			t.Errorf("%s: complete %t with %d VMs, want the one that may be there", name, complete, x.Stamped())
		}
	}
	x.Confirm(x.Begin(), a.Ref, Gone)
	if x.Stamped() != 0 || len(x.Owned(x.OwnedGroups()...)) != 0 {
		t.Errorf("%d VMs are counted after the last one was deleted", x.Stamped())
	}
}

// TestAnUnreadVMOfTheGroupsFolderThatIsMissingIsASuspect: it can be an unrecorded clone.
func TestAnUnreadVMOfTheGroupsFolderThatIsMissingIsASuspect(t *testing.T) {
	x, _ := newIndex(0)
	dark := Seen{VM: vsphere.VM{Ref: vsphere.VMRef("vm-9"), Name: "vg-9", Folder: folder.Ref}, Unread: true}
	x.list(dark)
	x.list()
	if g := x.Group(query()); len(g.Unread) != 0 || len(g.Suspects) != 1 || g.Suspects[0].Ref != dark.Ref {
		t.Errorf("the group sees %+v", g)
	}
}
