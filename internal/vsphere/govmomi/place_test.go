package govmomi_test

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
)

// restartWith ends the Server and starts another one, with what status would have kept.
func (r *rig) restartWith(status vsphere.Place) {
	r.t.Helper()
	r.stop()
	r.cfg.Known = status
	r.cfg.ExpectedVMs = 2
	r.start()
}

// What a connection finds by its name it does not find the same way again once somebody has changed vCenter.
func TestTheRootFolderOfBeforeIsUsedIfVCenterShowsThatItIsOne(t *testing.T) {
	type story struct {
		// person changes vCenter, and status what it keeps, or the VCenter's spec.
		person func(*rig)
		status func(*rig, *vsphere.Place)
		// found says whether the VMs are known after the restart, fails of what kind the error is instead of a connection.
		found bool
		fails vsphere.Kind
		// told is what a person is told of the place.
		told  vsphere.PlaceProblemKind
		words string
	}
	rename := func(r *rig) { must(r.t, r.person.RenameFolder(r.ctx, "/DC0/vm/vm-operator", "vm-operator-old")) }
	add := func(r *rig) { must(r.t, r.person.CreateDatacenter(r.ctx, "DC1")) }
	for name, s := range map[string]story{
		"nothing happened":   {found: true},
		"a datacenter added": {person: add, found: true, told: vsphere.DatacenterUnclear, words: `Set spec.datacenter to "/DC0"`},
		"a datacenter added, and status lost": {
			person: add, status: func(_ *rig, p *vsphere.Place) { *p = vsphere.Place{} }, fails: vsphere.KindAmbiguous,
		},
		"the datacenter renamed": {
			person: func(r *rig) { must(r.t, r.person.RenameDatacenter(r.ctx, "/DC0", "Munich")) }, found: true,
		},
		"the datacenter of spec renamed": {
			person: func(r *rig) {
				r.cfg.Datacenter = "DC0"
				must(r.t, r.person.RenameDatacenter(r.ctx, "/DC0", "Munich"))
			},
			status: func(_ *rig, p *vsphere.Place) { p.Datacenter = "DC0" },
			found:  true, told: vsphere.DatacenterUnclear, words: `Set spec.datacenter to "/Munich"`,
		},
		"another datacenter has the name of spec now": {
			person: func(r *rig) {
				r.cfg.Datacenter = "DC0"
				must(r.t, r.person.RenameDatacenter(r.ctx, "/DC0", "Munich"))
				must(r.t, r.person.CreateDatacenter(r.ctx, "DC0"))
			},
			status: func(_ *rig, p *vsphere.Place) { p.Datacenter = "DC0" },
			found:  true, told: vsphere.DatacenterUnclear, words: `Set spec.datacenter to "/Munich"`,
		},
		"the folder renamed": {person: rename, found: true, told: vsphere.RootRenamed, words: `set spec.folder to "vm-operator-old"`},
		"the folder renamed, and an empty one made in its place": {
			person: func(r *rig) { rename(r); must(r.t, r.person.CreateFolders(r.ctx, "/DC0/vm/vm-operator")) },
			found:  true, told: vsphere.RootRenamed, words: `set spec.folder to "vm-operator-old"`,
		},
		"the folder moved": {
			person: func(r *rig) {
				must(r.t, r.person.CreateFolders(r.ctx, "/DC0/vm/prod"))
				must(r.t, r.person.MoveFolder(r.ctx, "/DC0/vm/vm-operator", "/DC0/vm/prod"))
			},
			found: true, told: vsphere.RootRenamed, words: `set spec.folder to "prod/vm-operator"`,
		},
		"the folder renamed, and status lost": {
			person: rename, status: func(_ *rig, p *vsphere.Place) { *p = vsphere.Place{} },
			told: vsphere.VMsElsewhere, words: `set spec.folder to "vm-operator-old"`,
		},
		"spec edited to another folder": {
			person: func(r *rig) { r.cfg.RootFolder = "another" }, told: vsphere.VMsElsewhere, words: `set spec.folder to "vm-operator"`,
		},
		"status of another vCenter": {
			person: rename, status: func(_ *rig, p *vsphere.Place) { p.InstanceUUID = "another" }, told: vsphere.VMsElsewhere, words: "vm-operator-old",
		},
		"status names a folder that does not exist": {
			person: rename, status: func(_ *rig, p *vsphere.Place) { p.Root = vsphere.FolderRef("group-4711") }, told: vsphere.VMsElsewhere, words: "vm-operator-old",
		},
		"status names a folder of another purpose": {
			person: func(r *rig) { rename(r); must(r.t, r.person.CreateFolders(r.ctx, "/DC0/vm/databases")) },
			status: func(r *rig, p *vsphere.Place) { p.Root = folderAt(r, "/DC0/vm/databases") },
			told:   vsphere.VMsElsewhere, words: "vm-operator-old",
		},
		"status names what the root folder is in": {
			person: rename, status: func(r *rig, p *vsphere.Place) { p.Root = folderAt(r, "/DC0/vm") }, told: vsphere.VMsElsewhere, words: "vm-operator-old",
		},
		"status names a member's folder": {
			person: rename, status: func(r *rig, p *vsphere.Place) { p.Root = folderAt(r, "/DC0/vm/vm-operator-old/m") }, told: vsphere.VMsElsewhere, words: "vm-operator-old",
		},
		"status names a datacenter as folder": {
			person: rename, status: func(_ *rig, p *vsphere.Place) { p.Root = vsphere.Ref{Type: "Folder", Value: "datacenter-2"} },
			told: vsphere.VMsElsewhere, words: "vm-operator-old",
		},
		"status names a folder of hosts": {
			person: rename, status: func(r *rig, p *vsphere.Place) { p.Root = folderAt(r, "/DC0/host") }, told: vsphere.VMsElsewhere, words: "vm-operator-old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, govmomi.Poll, resyncOften).ensure()
			known := []vsphere.Ref{r.clone(0).Ref, r.clone(1).Ref}
			place := r.server.Health().Place
			if s.person != nil {
				s.person(r)
			}
			if s.status != nil {
				s.status(r, &place)
			}
			r.restartWith(place)
			if s.fails != "" {
				r.until("a connection that fails", func() bool { return vsphere.KindOf(r.server.Health().Err) == s.fails })
				return
			}
			r.until("a connection", func() bool { h := r.server.Health(); return h.Reachable && (h.Complete || h.SuddenlyEmpty) })
			if h := r.server.Health(); h.Complete != s.found || h.SuddenlyEmpty == s.found {
				t.Fatalf("the VMs are known: %t, want %t; it works in %s", h.Complete, s.found, h.Place.Root)
			}
			r.until("the person is told", func() bool {
				r.observe(known...)
				p := r.server.Health().PlaceProblem
				return p.Kind == s.told && strings.Contains(p.Message, s.words)
			})
		})
	}
}

func folderAt(r *rig, path string) vsphere.Ref {
	r.t.Helper()
	ref, err := r.person.FolderRef(r.ctx, path)
	must(r.t, err)
	return vsphere.FolderRef(ref.Value)
}

func TestAnAddedDatacenterIsToldBeforeTheNextRestart(t *testing.T) {
	r := newRig(t, govmomi.Poll, resyncOften).connected()
	must(t, r.person.CreateDatacenter(r.ctx, "DC1"))
	r.until("that is told", func() bool { return r.server.Health().PlaceProblem.Kind == vsphere.DatacenterUnclear })
	if h := r.server.Health(); !h.Reachable {
		t.Errorf("and the connection ends: %v", h.Err)
	}
}
