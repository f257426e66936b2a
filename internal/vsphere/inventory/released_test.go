package inventory

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// released is a VM that a group has released, below the root and outside of the group's folder.
func released(i int, id vsphere.GroupID) Seen {
	seen := vm(i, id)
	seen.Folder, seen.Stamp = root.Ref, nil
	seen.Released = &vsphere.ReleaseMark{GroupID: id, Namespace: "ns", Ordinal: int32(i)}
	return seen
}

func refsOf(vms []vsphere.VM) (refs []vsphere.Ref) {
	for _, vm := range vms {
		refs = append(refs, vm.Ref)
	}
	return refs
}

func TestReleasedVMsAreFoundByTheGroupOfTheirMarkWhereverTheyAre(t *testing.T) {
	x, _ := newIndex(0)
	second, first, stamped := released(8, groupID), released(3, vsphere.GroupID{Installation: "lost", Member: "m", Group: "g"}), vm(1, groupID)
	inFolder := released(5, groupID)
	inFolder.Folder = folder.Ref
	x.list(second, first, stamped, inFolder,
		released(6, vsphere.GroupID{Installation: "inst", Member: "another", Group: "g"}),
		released(7, vsphere.GroupID{Installation: "inst", Member: "m", Group: "another"}))
	all := []vsphere.Ref{first.Ref, inFolder.Ref, second.Ref}
	for name, c := range map[string]struct {
		query vsphere.Query
		vms   []vsphere.Ref
	}{
		"with its folder":  {query(), []vsphere.Ref{stamped.Ref, inFolder.Ref}},
		"by its ID alone":  {vsphere.Query{ID: groupID}, []vsphere.Ref{stamped.Ref}},
		"recorded as ours": {vsphere.Query{ID: groupID, Known: []vsphere.Ref{second.Ref}}, []vsphere.Ref{stamped.Ref, second.Ref}},
	} {
		g := x.Group(c.query)
		if !slices.Equal(refsOf(g.Released), all) || !slices.Equal(refsOf(g.VMs), c.vms) {
			t.Errorf("%s: released are %v, want %v; VMs are %v, want %v", name, refsOf(g.Released), all, refsOf(g.VMs), c.vms)
		}
	}
	if n, owned := x.Stamped(), x.Owned(x.OwnedGroups()...); n != 1 || len(owned) != 1 || owned[0].Ref != stamped.Ref {
		t.Errorf("%d VMs count as ours, %v, want the stamped one", n, refsOf(owned))
	}
}

func TestAReleasedVMThatIsMissingStaysUntilThereIsAVerdict(t *testing.T) {
	for _, verdict := range []State{Gone, Elsewhere} {
		x, n := newIndex(0)
		a := released(1, groupID)
		x.list(a, vm(2, groupID))
		n.groups = nil
		x.list(vm(2, groupID))
		g := x.Group(query())
		if !slices.Equal(refsOf(g.Released), []vsphere.Ref{a.Ref}) || len(g.Suspects) > 0 || len(g.VMs) != 1 {
			t.Errorf("while it is missing: %+v", g)
		}
		if !slices.Contains(x.Suspects(), a.Ref) || len(n.groups) == 0 {
			t.Errorf("looked up %v; notified %v", x.Suspects(), n.groups)
		}
		n.groups = nil
		x.Confirm(x.Begin(), a.Ref, verdict)
		if g := x.Group(query()); len(g.Released) > 0 || !slices.Contains(n.groups, groupID.Key()) {
			t.Errorf("after the verdict %d: released are %v, notified %v", verdict, g.Released, n.groups)
		}
		x.Upsert(x.Begin(), []Seen{a}, nil)
		if g := x.Group(query()); verdict == Elsewhere && len(g.Released) != 1 {
			t.Error("a released VM that came back is not seen")
		}
	}
}

func TestAGroupIsToldWhatBecomesOfAVMThatItReleased(t *testing.T) {
	x, n := newIndex(0)
	a := vm(1, groupID)
	a.Folder = root.Ref // no notification because of the folder
	x.list(a)
	let := released(1, groupID)
	renamed, unmarked, restamped := let, let, a
	renamed.Name = "mine"
	unmarked.Released = nil
	for _, step := range []struct {
		what     string
		vm       Seen
		released int
	}{
		{"it is released", let, 1}, {"nothing changes", let, 1}, {"it is renamed", renamed, 1}, {"the mark is removed", unmarked, 0},
		{"the mark is back", let, 1}, {"it is stamped", restamped, 0},
	} {
		n.groups = nil
		x.Upsert(x.Begin(), []Seen{step.vm}, nil)
		if told := slices.Contains(n.groups, groupID.Key()); told != (step.what != "nothing changes") {
			t.Errorf("%s: notified is %t", step.what, told)
		}
		if g := x.Group(vsphere.Query{ID: groupID}); len(g.Released) != step.released {
			t.Errorf("%s: released are %v, want %d", step.what, refsOf(g.Released), step.released)
		}
	}
	if len(x.byGroup) != 1 {
		t.Errorf("%d groups are indexed, want 1", len(x.byGroup))
	}
}

func TestAReleasedVMWhoseConfigurationIsNotShownKeepsItsMark(t *testing.T) {
	x, _ := newIndex(0)
	a := released(1, groupID)
	x.list(a)
	x.list(Seen{VM: vsphere.VM{Ref: a.Ref, Name: a.Name, Folder: a.Folder}, Unread: true})
	if g := x.Group(query()); len(g.Released) != 1 || g.Released[0].Released == nil || *g.Released[0].Released != *a.Released {
		t.Errorf("released are %+v", g.Released)
	}
}

func TestWhatIsHandedOutOfAReleasedVMIsNotTheIndexsOwn(t *testing.T) {
	x, _ := newIndex(0)
	x.list(released(1, groupID))
	x.Group(query()).Released[0].Released.Namespace = "changed"
	if got := x.Group(query()).Released[0].Released.Namespace; got != "ns" {
		t.Errorf("the namespace is %q", got)
	}
}
