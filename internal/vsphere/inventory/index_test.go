package inventory

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var (
	root    = vsphere.Folder{Ref: vsphere.FolderRef("group-root"), Name: "vm-operator", Path: "/DC0/vm/vm-operator"}
	folder  = vsphere.Folder{Ref: vsphere.FolderRef("group-1"), Name: "vg", Parent: root.Ref}
	groupID = vsphere.GroupID{Installation: "inst", Member: "m", Group: "g"}
)

type told struct {
	groups  []vsphere.GroupKey
	server  int
	changes []Change
	clock   time.Time
}

func (t *told) Now() time.Time { return t.clock }

func (t *told) GroupChanged(g vsphere.GroupKey) { t.groups = append(t.groups, g) }
func (t *told) ServerChanged()                  { t.server++ }
func (t *told) VMChanged(c Change)              { t.changes = append(t.changes, c) }

func newIndex(expected int) (*Index, *told) {
	n := &told{}
	x := New(Config{Installation: "inst", ExpectedVMs: expected, Watcher: n, Now: n.Now})
	x.SetRoot(root)
	return x, n
}

func vm(i int, id vsphere.GroupID) Seen {
	return Seen{VM: vsphere.VM{
		Ref: vsphere.VMRef("vm-" + strconv.Itoa(i)), Name: "vg-" + strconv.Itoa(i), Folder: folder.Ref,
		ChangeVersion: "1", Stamp: &vsphere.Stamp{GroupID: id, Ordinal: int32(i)},
	}}
}

func (x *Index) list(vms ...Seen) {
	x.ApplyListing(x.Begin(), vms, []vsphere.Folder{folder})
}

func query(known ...vsphere.Ref) vsphere.Query {
	return vsphere.Query{ID: groupID, Folder: folder.Ref, Known: known}
}

func TestMissingIsSuspectUntilConfirmed(t *testing.T) {
	x, n := newIndex(0)
	a, b := vm(1, groupID), vm(2, groupID)
	x.list(a, b)
	n.groups = nil
	x.list(b)
	g := x.Group(query(a.Ref, b.Ref))
	if len(g.VMs) != 1 || len(g.Gone) != 0 || !slices.Equal(g.Ask, []vsphere.Ref{a.Ref}) || !slices.Equal(x.Suspects(), g.Ask) {
		t.Fatalf("after it went missing: %+v", g)
	}
	if g := x.Group(query(b.Ref)); len(g.Suspects) != 1 {
		t.Errorf("an unrecorded missing VM: %+v", g)
	}
	if len(n.groups) == 0 {
		t.Error("the group was not notified that the VM is missing")
	}
	n.groups = nil
	asked, late := x.Begin(), x.Begin()
	x.Confirm(asked, a.Ref, Gone)
	if g := x.Group(query(a.Ref, b.Ref)); !slices.Equal(g.Gone, []vsphere.Ref{a.Ref}) || len(g.Ask) != 0 {
		t.Errorf("after the confirmation: %+v", g)
	}
	if len(n.groups) == 0 {
		t.Error("the group was not notified of the deletion")
	}
	// A listing in progress, even one that began after the look-up, cannot restore it.
	x.ApplyListing(late, []Seen{a, b}, []vsphere.Folder{folder})
	if g := x.Group(query(a.Ref)); len(g.Gone) != 1 || len(g.VMs) != 1 {
		t.Errorf("after a late listing: %+v", g)
	}
}

// TestARestoredVCenterGivesReferencesToOtherObjects: a vCenter restored from a backup continues to count from there.
func TestARestoredVCenterGivesReferencesToOtherObjects(t *testing.T) {
	x, _ := newIndex(0)
	a := vm(1, groupID)
	sub := vsphere.Folder{Ref: vsphere.FolderRef("group-9"), Name: "old", Parent: folder.Ref}
	x.ApplyListing(x.Begin(), []Seen{a}, []vsphere.Folder{folder, sub})
	x.Leaving(a.Ref)
	x.Confirm(x.Begin(), a.Ref, Gone)
	x.Confirm(x.Begin(), sub.Ref, Gone)

	other := a
	other.Name, other.Stamp, other.Unread = "not-read-yet", nil, true
	sub.Name = "new"
	x.Upsert(x.Begin(), []Seen{other}, []vsphere.Folder{sub})
	if child, ok := x.Child(folder.Ref, "new"); !ok || child.Ref != sub.Ref {
		t.Errorf("the folder with a reference of old is %+v, %t", child, ok)
	}
	if got, state := x.VM(a.Ref); state != Present || got.Stamp != nil {
		t.Errorf("the VM with a reference of old is %+v in state %d; want it present and without the old one's stamp", got, state)
	}
	// Its departure is an ordinary one: it is not the object that was destroyed.
	if x.vms[a.Ref].leaving {
		t.Error("it counts as being destroyed by the operator")
	}
}

// The end of the task can give the verdict while a look-up that began earlier still runs.
func TestAVMThatTheOperatorDestroyedIsNotSearchedForAfterItsVerdict(t *testing.T) {
	x, _ := newIndex(0)
	a := vm(1, groupID)
	a.InstanceUUID = "50000000-0000-4000-8000-000000000001"
	x.list(a)
	if len(x.SearchFor(a.Ref)) == 0 {
		t.Error("a VM that another user deletes is not searched for")
	}
	x.Leaving(a.Ref)
	for _, when := range []string{"before", "after"} {
		if uuids := x.SearchFor(a.Ref, a.InstanceUUID); len(uuids) != 0 {
			t.Errorf("%s the verdict, the search has %v", when, uuids)
		}
		x.Confirm(x.Begin(), a.Ref, Gone)
	}
}

func TestASlowListingDoesNotOverwriteWhatWasReadLater(t *testing.T) {
	x, _ := newIndex(0)
	a, b := vm(1, groupID), vm(2, groupID)
	x.list(a)
	slow := x.Begin()
	on := a
	on.Power = vsphere.PoweredOn
	x.Upsert(x.Begin(), []Seen{on, b}, nil)
	x.ApplyListing(slow, []Seen{a}, []vsphere.Folder{folder})
	g := x.Group(query())
	if len(g.VMs) != 2 || g.VMs[0].Power != vsphere.PoweredOn {
		t.Errorf("after the slow listing: %+v", g.VMs)
	}
	if s := x.Suspects(); len(s) != 0 {
		t.Errorf("suspects: %v", s)
	}
	if x.Applied() != slow {
		t.Error("the listing does not count as applied")
	}
}

func TestElsewhereAndBack(t *testing.T) {
	x, _ := newIndex(0)
	a := vm(1, groupID)
	x.list(a)
	x.Left(a.Ref)
	x.Confirm(x.Begin(), a.Ref, Elsewhere)
	if g := x.Group(query(a.Ref)); !slices.Equal(g.Elsewhere, []vsphere.Ref{a.Ref}) || len(g.VMs) != 0 {
		t.Errorf("elsewhere: %+v", g)
	}
	x.list(a)
	if g := x.Group(query(a.Ref)); len(g.VMs) != 1 || len(g.Elsewhere) != 0 {
		t.Errorf("back: %+v", g)
	}
}

func TestCompleteness(t *testing.T) {
	x, n := newIndex(0)
	if ok, why := x.Complete(); ok || why == "" {
		t.Errorf("before the first listing: %v %q", ok, why)
	}
	x.list(vm(1, groupID))
	if ok, _ := x.Complete(); !ok {
		t.Error("not complete after a listing")
	}
	n.server = 0
	x.Invalidate("the connection is lost")
	if ok, why := x.Complete(); ok || why != "the connection is lost" || x.Applied() != 0 || n.server != 1 {
		t.Errorf("after Invalidate: %v %q, notified %d times", ok, why, n.server)
	}
	if g := x.Group(query()); len(g.VMs) != 1 {
		t.Error("what is known was forgotten")
	}
}

func TestVMsOfAnotherInstallationAreSeenAndNotCounted(t *testing.T) {
	x, _ := newIndex(0)
	other := vm(1, vsphere.GroupID{Installation: "other", Member: "m", Group: "g"})
	other.Tombstone = true
	x.list(other)
	g := x.Group(query())
	if len(g.VMs) != 1 || g.VMs[0].Stamp == nil || g.VMs[0].Stamp.Installation != "other" || x.Stamped() != 0 || len(x.Owned(x.OwnedGroups()...)) != 0 {
		t.Errorf("a VM of another installation: %+v", g.VMs)
	}
}

func TestAFolderGoesOnToTellItsGroupThoughAnotherAskedForIt(t *testing.T) {
	x, n := newIndex(0)
	x.list()
	x.Group(query())
	other := query()
	other.ID.Member = "another"
	x.Group(other)
	n.groups = nil
	foreign := vm(7, groupID)
	foreign.Stamp = nil
	x.Upsert(x.Begin(), []Seen{foreign}, nil)
	if !slices.Contains(n.groups, groupID.Key()) {
		t.Errorf("notified %v, want the folder's group", n.groups)
	}
}

func TestFolderTellsItsGroup(t *testing.T) {
	x, n := newIndex(0)
	x.list()
	x.Group(query())
	n.groups = nil
	foreign := vm(7, groupID)
	foreign.Stamp = nil
	x.Upsert(x.Begin(), []Seen{foreign}, nil)
	if !slices.Contains(n.groups, groupID.Key()) {
		t.Error("the folder's group was not notified of a foreign VM")
	}
	n.groups = nil
	x.Upsert(x.Begin(), []Seen{foreign}, nil)
	if len(n.groups) != 0 {
		t.Error("the group was notified although nothing changed")
	}
	moved := foreign
	moved.Folder = root.Ref
	x.Upsert(x.Begin(), []Seen{moved}, nil)
	if !slices.Contains(n.groups, groupID.Key()) {
		t.Error("the group was not notified that the VM left its folder")
	}
}

func TestUnreadKeepsWhatWasKnown(t *testing.T) {
	x, _ := newIndex(0)
	a := vm(1, groupID)
	a.CPU, a.MemoryMiB, a.RootDiskGiB, a.HotAdd = 2, 1024, 40, vsphere.HotAdd{CPU: true, Memory: true, MemoryLimitMiB: 4096}
	x.list(a)
	dark := Seen{VM: vsphere.VM{Ref: a.Ref, Name: a.Name, Folder: a.Folder}, Unread: true}
	x.list(dark)
	if g := x.Group(query()); len(g.VMs) != 1 || g.VMs[0].Stamp == nil || g.VMs[0].HotAdd != a.HotAdd || g.VMs[0].RootDiskGiB != a.RootDiskGiB || len(g.Unread) != 0 {
		t.Errorf("known VM: %+v", g)
	}
	fresh := Seen{VM: vsphere.VM{Ref: vsphere.VMRef("vm-9"), Name: "vg-9", Folder: folder.Ref}, Unread: true}
	x.list(dark, fresh)
	if g := x.Group(query()); len(g.VMs) != 1 || len(g.Unread) != 1 {
		t.Errorf("unknown VM: %+v", g)
	}
}

// recorded is the expectation of groups that have recorded these VMs.
func recorded(vms ...Seen) vsphere.Expectation {
	e := vsphere.Expectation{VMs: len(vms)}
	for _, vm := range vms {
		e.Recorded = append(e.Recorded, vm.Ref)
	}
	return e
}

func TestSuddenlyEmpty(t *testing.T) {
	a, b := vm(1, groupID), vm(2, groupID)
	for _, test := range []struct {
		name     string
		expected int
		do       func(x *Index)
		alarm    bool
	}{
		{"all at once", 0, func(x *Index) { x.list(a, b); x.list() }, true},
		{"one of two stays", 0, func(x *Index) { x.list(a, b); x.list(a) }, false},
		{"only one there was", 0, func(x *Index) { x.list(a); x.list() }, false},
		{"one by one, confirmed", 0, func(x *Index) {
			x.list(a, b)
			x.list(b)
			x.Confirm(x.Begin(), a.Ref, Gone)
			x.list()
		}, false},
		{"destroyed by us", 0, func(x *Index) { x.list(a, b); x.Leaving(a.Ref); x.Leaving(b.Ref); x.list() }, false},
		{"released by us", 0, func(x *Index) {
			x.list(a, b)
			ra, rb := a, b
			ra.Stamp, rb.Stamp = nil, nil
			x.list(ra, rb)
		}, false},
		{"empty from the start", 0, func(x *Index) { x.list() }, false},
		{"empty after a restart", 2, func(x *Index) { x.list() }, true},
		{"empty after a restart, and no group expects VMs", 5, func(x *Index) { x.list(); x.Expect(vsphere.Expectation{}) }, false},
		{"empty after a restart, and groups count on VMs", 5, func(x *Index) { x.list(); x.Expect(vsphere.Expectation{VMs: 2}) }, true},
		{"empty after a restart, and all that groups have recorded is explained", 2, func(x *Index) {
			x.list()
			x.Expect(recorded(a, b))
			x.Explained(x.Vanished())
		}, false},
		{"empty after a restart, and one VM is explained after the other", 2, func(x *Index) {
			x.list()
			x.Expect(recorded(a, b))
			x.Explained([]vsphere.Ref{a.Ref})
			x.Expect(recorded(a, b))
			x.Explained([]vsphere.Ref{b.Ref})
		}, false},
		{"empty after a restart, and a VM is not explained", 2, func(x *Index) {
			x.list()
			x.Expect(recorded(a, b))
			x.Explained([]vsphere.Ref{a.Ref})
			x.Expect(recorded(a, b))
		}, true},
		{"empty after a restart, and what is explained was not recorded", 2, func(x *Index) {
			x.list()
			x.Expect(recorded(a, b))
			x.Explained([]vsphere.Ref{vm(3, groupID).Ref, vm(4, groupID).Ref})
		}, true},
		{"empty after a restart, and what is recorded is not all", 2, func(x *Index) {
			x.list()
			e := recorded(a, b)
			e.Unrecorded = true
			x.Expect(e)
			x.Explained([]vsphere.Ref{a.Ref, b.Ref})
		}, true},
		{"empty after a restart, and another group becomes known", 2, func(x *Index) {
			x.list()
			x.Expect(recorded(a, b))
			x.Explained([]vsphere.Ref{a.Ref})
			x.Expect(recorded(a, b, vm(3, groupID)))
			x.Explained([]vsphere.Ref{b.Ref})
		}, true},
		{"empty after a restart, and groups have recorded nothing", 2, func(x *Index) {
			x.list()
			x.Expect(vsphere.Expectation{VMs: 2})
			x.Explained(nil)
		}, true},
		{"what is explained of one accident explains no other", 2, func(x *Index) {
			x.list()
			x.Expect(recorded(a, b))
			x.Explained([]vsphere.Ref{a.Ref, b.Ref})
			x.list(a, b)
			x.list()
			x.Expect(recorded(a, b))
		}, true},
		{"what vanished before our eyes is not explained by groups that do not count on it", 0, func(x *Index) { x.list(a, b); x.list(); x.Expect(vsphere.Expectation{}) }, true},
		{"empty after a restart, one expected", 1, func(x *Index) { x.list() }, false},
		{"not empty after a restart", 2, func(x *Index) { x.list(a) }, false},
		{"all left in one piece of news", 0, func(x *Index) { x.list(a, b); x.Left(a.Ref, b.Ref) }, true},
		{"one is back", 0, func(x *Index) { x.list(a, b); x.list(); x.list(b) }, false},
		{"a new one is no reappearance", 0, func(x *Index) { x.list(a, b); x.list(); x.list(vm(3, groupID)) }, true},
		{"confirmed gone is no answer", 0, func(x *Index) {
			x.list(a, b)
			x.list()
			x.Confirm(x.Begin(), a.Ref, Gone)
			x.Confirm(x.Begin(), b.Ref, Gone)
			x.list()
		}, true},
		{"accepted", 0, func(x *Index) { x.list(a, b); x.list(); x.AcceptEmpty(); x.list() }, false},
		{"again after accepted and filled", 0, func(x *Index) {
			x.list(a, b)
			x.list()
			x.AcceptEmpty()
			x.list(a, b)
			x.list()
		}, true},
		{"another root folder", 0, func(x *Index) {
			x.list(a, b)
			x.SetRoot(vsphere.Folder{Ref: vsphere.FolderRef("group-other"), Name: "vm-operator"})
			x.ApplyListing(x.Begin(), nil, nil)
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			x, _ := newIndex(test.expected)
			test.do(x)
			if x.SuddenlyEmpty() != test.alarm {
				t.Errorf("alarm is %v, want %v", x.SuddenlyEmpty(), test.alarm)
			}
			if ok, _ := x.Complete(); ok == test.alarm {
				t.Errorf("complete is %v", ok)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	x, _ := newIndex(0)
	sub := vsphere.Folder{Ref: vsphere.FolderRef("group-2"), Name: "sub", Parent: folder.Ref}
	x.ApplyListing(x.Begin(), nil, []vsphere.Folder{sub, folder}) // a child before its parent
	got, ok := x.Child(folder.Ref, "sub")
	if !ok || got.Path != "/DC0/vm/vm-operator/vg/sub" {
		t.Errorf("child is %+v %v", got, ok)
	}
	q := vsphere.Query{ID: groupID, Folder: sub.Ref}
	x.list()
	if g := x.Group(q); g.FolderGone || !slices.Equal(g.Ask, []vsphere.Ref{sub.Ref}) {
		t.Errorf("missing folder: %+v", g)
	}
	if _, ok := x.Child(folder.Ref, "sub"); ok {
		t.Error("a missing folder is still found by name")
	}
	x.Confirm(x.Begin(), sub.Ref, Gone)
	if g := x.Group(q); !g.FolderGone || len(g.Ask) != 0 {
		t.Errorf("deleted folder: %+v", g)
	}
	if g := x.Group(vsphere.Query{ID: groupID, Folder: vsphere.FolderRef("group-77")}); g.FolderGone || len(g.Ask) != 1 {
		t.Errorf("folder never heard of: %+v", g)
	}
}

func TestAFolderMadeDuringAListingIsNoSuspect(t *testing.T) {
	x, _ := newIndex(0)
	made := vsphere.Folder{Ref: vsphere.FolderRef("group-2"), Name: "sub", Parent: folder.Ref}
	called := x.Begin()
	listed := x.Begin() // and read before vCenter made the folder
	x.Made(called, made)
	x.ApplyListing(listed, nil, []vsphere.Folder{folder})
	if _, state := x.FolderState(made.Ref); state != Present {
		t.Errorf("the folder is in state %d", state)
	}
	x.ApplyListing(x.Begin(), nil, []vsphere.Folder{folder})
	if _, state := x.FolderState(made.Ref); state != Suspect {
		t.Errorf("a later listing without it leaves it in state %d", state)
	}
	called = x.Begin()
	x.Confirm(x.Begin(), made.Ref, Gone) // a user destroyed it before the response
	if x.Made(called, made); !x.Group(vsphere.Query{ID: groupID, Folder: made.Ref}).FolderGone {
		t.Error("a deleted folder came back")
	}
}

func TestVerdictsExpire(t *testing.T) {
	x, n := newIndex(0)
	a := vsphere.VMRef("vm-1")
	x.list()
	x.Confirm(x.Begin(), a, Gone)
	n.clock = n.clock.Add(keepVerdict + 1)
	x.list()
	if g := x.Group(query(a)); len(g.Gone) != 0 || len(g.Ask) != 1 {
		t.Errorf("an old verdict is not asked for again: %+v", g)
	}
}

// With events, vCenter is listed every five minutes, and an update replaces thousands of VMs in a day.
func TestDeletedVMsAndFoldersAreForgottenByTimeUnlessAGroupAsksForThem(t *testing.T) {
	x, n := newIndex(0)
	const many = 500
	seen := make([]Seen, 0, many)
	for i := range many {
		seen = append(seen, vm(i, groupID))
	}
	x.list(seen...)
	for _, s := range seen {
		x.Confirm(x.Begin(), s.Ref, Gone)
	}
	x.Confirm(x.Begin(), folder.Ref, Gone)
	asked := vsphere.Query{ID: groupID, Folder: folder.Ref, Known: []vsphere.Ref{seen[0].Ref}}
	listing := func() { x.ApplyListing(x.Begin(), nil, nil) }
	for range 12 {
		for range 300 { // polling every second
			listing()
		}
		if g := x.Group(asked); !slices.Equal(g.Gone, asked.Known) || !g.FolderGone || len(g.Ask) > 0 {
			t.Fatalf("what a group asks for is forgotten: %+v", g)
		}
		n.clock = n.clock.Add(5 * time.Minute)
	}
	listing()
	if len(x.vms) != 1 || len(x.folders) != 2 {
		t.Errorf("after an hour, the index has %d VMs and %d folders, and groups ask for one of each", len(x.vms), len(x.folders)-1)
	}
	n.clock = n.clock.Add(keepVerdict + 1)
	listing()
	if len(x.vms)+len(x.waiting) != 0 || len(x.folders) != 1 || len(x.owners) != 0 {
		t.Errorf("after no group asks, the index has %d VMs and %d folders", len(x.vms), len(x.folders)-1)
	}
}
