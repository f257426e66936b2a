package govmomi_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
)

// restartWith ends the Server and starts another one, with the state that status keeps.
func (r *rig) restartWith(status vsphere.Place) {
	r.t.Helper()
	r.stop()
	r.cfg.Known = status
	r.cfg.ExpectedVMs = 2
	r.start()
}

// After a user has changed vCenter, a connection does not find an object by its name as before.
func TestTheRootFolderOfBeforeIsUsedIfVCenterShowsThatItIsOne(t *testing.T) {
	runsInParallel(t)
	type story struct {
		// person changes vCenter, and status the kept state, or the VCenter's spec.
		person func(*rig)
		status func(*rig, *vsphere.Place)
		// found reports whether the VMs are known after the restart; fails is the kind of the error
		// if there is no connection.
		found bool
		fails vsphere.Kind
		// told is the reported problem of the place, and words are part of its message, or of the error.
		told  vsphere.PlaceProblemKind
		words string
	}
	// hideAbove moves the datacenter into a folder, or the root folder, that the account does not see.
	hideAbove := func(r *rig) {
		top := object.NewRootFolder(r.person.Client())
		europe, err := top.CreateFolder(r.ctx, "Europe")
		must(r.t, err)
		dc, err := newFinder(r).Datacenter(r.ctx, "/DC0")
		must(r.t, err)
		task, err := europe.MoveInto(r.ctx, []types.ManagedObjectReference{dc.Reference()})
		must(r.t, err)
		must(r.t, task.Wait(r.ctx))
		r.sim.Hide(europe.Reference())
	}
	const readOnlyThere = "give the account the role Read-only (privilege System.Read) there"
	moveOutOfSight := func(r *rig) {
		must(r.t, r.person.CreateFolders(r.ctx, "/DC0/vm/prod"))
		must(r.t, r.person.MoveFolder(r.ctx, "/DC0/vm/vm-operator", "/DC0/vm/prod"))
		hide(r, "/DC0/vm/prod")
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
		"the folder renamed, below a folder of datacenters that is hidden": {
			person: func(r *rig) { rename(r); hideAbove(r) },
			found:  true, told: vsphere.RootRenamed, words: `set spec.folder to "vm-operator-old"`,
		},
		"the folder renamed, below a folder of datacenters that is hidden, and status lost": {
			person: func(r *rig) { rename(r); hideAbove(r) }, status: func(_ *rig, p *vsphere.Place) { *p = vsphere.Place{} },
			told: vsphere.VMsElsewhere, words: `are below /DC0/vm/vm-operator-old: rename that folder back to "vm-operator", or set spec.folder to "vm-operator-old"`,
		},
		"the folder moved into one that is hidden": {person: moveOutOfSight, fails: vsphere.KindPermission, words: readOnlyThere},
		"the folder moved into one that is hidden, and status lost": {
			person: moveOutOfSight, status: func(_ *rig, p *vsphere.Place) { *p = vsphere.Place{} }, told: vsphere.VMsElsewhere, words: readOnlyThere,
		},
		"the folder renamed, with a folder of a member that is hidden, and status lost": {
			person: func(r *rig) { rename(r); hide(r, "/DC0/vm/vm-operator-old/m") },
			status: func(_ *rig, p *vsphere.Place) { *p = vsphere.Place{} }, told: vsphere.VMsElsewhere, words: readOnlyThere,
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
				r.until("a connection that fails", func() bool {
					err := r.server.Health().Err
					return vsphere.KindOf(err) == s.fails && strings.Contains(err.Error(), s.words)
				})
				return
			}
			r.until("a connection", func() bool { h := r.server.Health(); return h.Reachable && (h.Complete || h.SuddenlyEmpty) })
			if h := r.server.Health(); h.Complete != s.found || h.SuddenlyEmpty == s.found {
				t.Fatalf("the VMs are known: %t, want %t; it works in %s", h.Complete, s.found, h.Place.Root)
			}
			r.until("the problem is reported", func() bool {
				r.observe(known...)
				p := r.server.Health().PlaceProblem
				return p.Kind == s.told && strings.Contains(p.Message, s.words)
			})
		})
	}
}

// A slash in spec.folder separates two folders, or belongs to the name of one, as the vSphere
// Client shows it. Existing folders decide, and separate folders come first.
func TestARootFolderWithASlashInItsNameIsFoundAsItIsShown(t *testing.T) {
	runsInParallel(t)
	for story, c := range map[string]struct {
		// exist are folders below the datacenter's, as in the API; paths are created, names belong to one folder.
		paths, names []string
		want         string
		ambiguous    []string
	}{
		"there is none":                    {want: "/DC0/vm/team/ops/vms"},
		"there is one with the name":       {names: []string{"team/ops/vms"}, want: "/DC0/vm/team%2fops%2fvms"},
		"there is one in another case":     {names: []string{"Team/Ops/VMs"}, want: "/DC0/vm/Team%2fOps%2fVMs"},
		"there are folders that it parts":  {paths: []string{"team/ops/vms"}, names: []string{"team/ops/vms"}, want: "/DC0/vm/team/ops/vms"},
		"there is the first of its folder": {paths: []string{"team"}, names: []string{"team/ops/vms"}, want: "/DC0/vm/team%2fops%2fvms"},
		"there are two readings":           {paths: []string{"team"}, names: []string{"team/ops/vms", "team>ops/vms"}, ambiguous: []string{"/DC0/vm/team%2fops%2fvms", "/DC0/vm/team/ops%2fvms"}},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t, govmomi.Poll, resyncOften).connected()
			for _, path := range c.paths {
				must(t, r.person.CreateFolders(r.ctx, "/DC0/vm/"+path))
			}
			for _, name := range c.names {
				parent, below, in := strings.Cut(name, ">")
				if !in {
					parent, below = "", name
				}
				folder, err := newFinder(r).Folder(r.ctx, strings.TrimSuffix("/DC0/vm/"+parent, "/"))
				must(t, err)
				_, err = folder.CreateFolder(r.ctx, below)
				must(t, err)
			}
			r.stop()
			r.cfg.RootFolder = "team/ops/vms"
			r.start()
			if len(c.ambiguous) > 0 {
				r.until("it fails", func() bool { return vsphere.KindOf(r.server.Health().Err) == vsphere.KindAmbiguous })
				for _, path := range c.ambiguous {
					if said := r.server.Health().Err.Error(); !strings.Contains(said, path) {
						t.Errorf("%q does not name %s", said, path)
					}
				}
				return
			}
			r.connected()
			if got := r.server.FolderPath(r.server.Health().Place.Root); got != c.want {
				t.Errorf("the root folder is %s, want %s", got, c.want)
			}
		})
	}
}

// hide removes the role of the operator's account on a folder, but not on its children.
func hide(r *rig, path string) {
	r.t.Helper()
	ref, err := r.person.FolderRef(r.ctx, path)
	must(r.t, err)
	r.sim.Hide(ref)
}

// The connection and the root folder stay. The message names the privilege that is needed for its path.
func TestARootFolderThatIsMovedOutOfSightIsToldWithThePrivilege(t *testing.T) {
	r := newRig(t, govmomi.Poll, resyncOften).ensure()
	r.clone(0)
	must(t, r.person.CreateFolders(r.ctx, "/DC0/vm/prod"))
	hide(r, "/DC0/vm/prod")
	must(t, r.person.MoveFolder(r.ctx, "/DC0/vm/vm-operator", "/DC0/vm/prod"))
	r.until("the problem is reported", func() bool {
		p := r.server.Health().PlaceProblem
		return p.Kind == vsphere.RootRenamed && strings.Contains(p.Message, "is still used. Its path is not known: ") && strings.Contains(p.Message, "(privilege System.Read) there")
	})
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
	r.until("the problem is reported", func() bool { return r.server.Health().PlaceProblem.Kind == vsphere.DatacenterUnclear })
	if h := r.server.Health(); !h.Reachable {
		t.Errorf("and the connection ends: %v", h.Err)
	}
}
