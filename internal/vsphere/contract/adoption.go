package contract

import (
	"context"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// heir is the group that adopts VMs of others.
var heir = vsphere.GroupID{Installation: id.Installation, Member: id.Member, Group: "group-2"}

// adopter adopts VMs into its own folder.
type adopter struct {
	*run
	folder vsphere.Folder
}

func newAdopter(r *run) adopter {
	folder, err := r.Server.EnsureFolder(r.ctx, vsphere.FolderPath{Member: path.Member, Namespace: path.Namespace, Leaf: "shop.99999999"})
	r.ok(err)
	return adopter{r, folder}
}

// adoption returns the adoption of a VM as ordinal 3.
func (a adopter) adoption(vm vsphere.VM, from vsphere.Origin) vsphere.Adoption {
	return vsphere.Adoption{VM: vm.Ref, From: from, Folder: a.folder.Ref, Name: "shop-3", Stamp: vsphere.Stamp{
		GroupID: heir, Ordinal: 3, Revision: "1-abcdefabcd", Epoch: vsphere.Epoch{Generation: 8, Number: 1},
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), UUID: vm.InstanceUUID,
	}}
}

// sees waits until the adopter observes the VM in the expected state, with nothing in flight.
func (a adopter) sees(what string, vm vsphere.Ref, holds func(vsphere.VM) bool) (seen vsphere.VM) {
	a.t.Helper()
	a.until(what, func() bool {
		o := a.observation()
		for _, seen = range o.VMs {
			if seen.Ref == vm {
				return o.Complete && len(o.InFlight) == 0 && holds(seen)
			}
		}
		return false
	})
	return seen
}

func (a adopter) observation() vsphere.Observation {
	return a.Server.Observe(vsphere.Query{ID: heir, Folder: a.folder.Ref})
}

// take adopts a VM with each step twice, and checks that nothing else changed.
func (a adopter) take(vm vsphere.VM, from vsphere.Origin) {
	a.t.Helper()
	ad := a.adoption(vm, from)
	a.refused(a.Server.Adopt(a.ctx, ad), vsphere.KindConflict)
	for _, step := range []struct {
		do   func(context.Context, vsphere.Adoption) error
		what string
		done func(vsphere.VM) bool
	}{
		{a.Server.Move, "moved", func(now vsphere.VM) bool { return now.Folder == a.folder.Ref && now.Name == vm.Name }},
		{a.Server.Rename, "renamed", func(now vsphere.VM) bool {
			return now.Name == ad.Name && (now.Stamp == nil || now.Stamp.Group != heir.Group)
		}},
		{a.Server.Adopt, "adopted", func(now vsphere.VM) bool { return now.Stamp != nil && now.Stamp.Group == heir.Group }},
	} {
		for range 2 {
			a.ok(step.do(a.ctx, ad))
			a.sees(step.what, vm.Ref, step.done)
		}
	}
	got := a.sees("adopted", vm.Ref, func(vsphere.VM) bool { return true })
	if *got.Stamp != ad.Stamp || got.Released != nil || got.Tombstone {
		a.t.Errorf("it carries %+v and %+v, want %+v", *got.Stamp, got.Released, ad.Stamp)
	}
	if !sameMachine(got, vm) {
		a.t.Errorf("it was %+v and is %+v", vm, got)
	}
	if f := a.observation().Failures; len(f) > 0 {
		a.t.Errorf("failures are left: %+v", f)
	}
}

// refuses checks that a VM is not adopted and stays unchanged.
func (a adopter) refuses(what string, ad vsphere.Adoption, kind vsphere.Kind) {
	a.t.Helper()
	for _, do := range []func(context.Context, vsphere.Adoption) error{a.Server.Move, a.Server.Rename, a.Server.Adopt} {
		if err := do(a.ctx, ad); vsphere.KindOf(err) != kind || err == nil {
			a.t.Errorf("%s: got %v, want an error of kind %s", what, err, kind)
		}
	}
}

func adoptedByStamp(r *run) {
	a, vm, dead := newAdopter(r), r.cloneLarger(0), r.clone(1)
	r.ok(r.Server.PowerOn(r.ctx, target(vm)))
	vm = r.vm("powered on", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn })
	r.ok(r.Server.Mark(r.ctx, target(dead)))
	dead = r.vm("marked", 1, func(vm vsphere.VM) bool { return vm.Tombstone })

	good := a.adoption(vm, vsphere.Origin{Stamp: vm.Stamp})
	for what, spoil := range map[string]func(*vsphere.Adoption){
		"another group's":  func(ad *vsphere.Adoption) { ad.From.Stamp = new(*vm.Stamp); ad.From.Stamp.Group = "group-9" },
		"another member's": func(ad *vsphere.Adoption) { ad.From.Stamp = new(*vm.Stamp); ad.From.Stamp.Member = "member-9" },
		"another ordinal":  func(ad *vsphere.Adoption) { ad.From.Stamp = new(*vm.Stamp); ad.From.Stamp.Ordinal = 9 },
		"a mark": func(ad *vsphere.Adoption) {
			ad.From = vsphere.Origin{Released: &vsphere.ReleaseMark{GroupID: id, Namespace: "shop"}}
		},
		"no stamp":    func(ad *vsphere.Adoption) { ad.From = vsphere.Origin{Folder: vm.Folder} },
		"nothing":     func(ad *vsphere.Adoption) { ad.From = vsphere.Origin{} },
		"a tombstone": func(ad *vsphere.Adoption) { ad.VM, ad.From.Stamp = dead.Ref, dead.Stamp },
	} {
		bad := good
		spoil(&bad)
		a.refuses(what, bad, vsphere.KindForeign)
	}
	fenced := vsphere.WithFence(r.t.Context(), func() error { return errLost })
	for _, do := range []func(context.Context, vsphere.Adoption) error{r.Server.Move, r.Server.Rename, r.Server.Adopt} {
		r.refused(do(fenced, good), vsphere.KindFenced)
	}
	r.settled("as it was", vm.Ref, func(o vsphere.Observation) bool { return len(o.VMs) == 2 && len(o.InFlight) == 0 })

	a.take(vm, vsphere.Origin{Stamp: vm.Stamp})
	r.refused(r.Server.PowerOff(r.ctx, target(vm)), vsphere.KindForeign)
	if o := r.Server.Observe(vsphere.Query{ID: id}); len(o.VMs) != 1 || o.VMs[0].Ref != dead.Ref {
		r.t.Errorf("the other group has %+v still", o.VMs)
	}
	stale := good
	stale.ChangeVersion = vm.ChangeVersion
	r.ok(r.Server.Adopt(r.ctx, stale)) // it carries the stamp
}

func adoptedByMark(r *run) {
	a, vm, other := newAdopter(r), r.clone(0), r.clone(1)
	r.ok(r.Server.Release(r.ctx, target(vm)))
	let := r.settled("released", vm.Ref, func(o vsphere.Observation) bool { return len(o.Released) > 0 }).Released[0]
	a.refuses("a stamp", a.adoption(let, vsphere.Origin{Stamp: vm.Stamp}), vsphere.KindForeign)
	a.refuses("another namespace's mark", a.adoption(let, vsphere.Origin{Released: &vsphere.ReleaseMark{
		GroupID: id, Namespace: "another", Ordinal: let.Released.Ordinal, Revision: let.Released.Revision,
	}}), vsphere.KindForeign)
	a.refuses("one that was not released", a.adoption(other, vsphere.Origin{Released: let.Released}), vsphere.KindForeign)
	a.take(let, vsphere.Origin{Released: let.Released})
	if o := r.observe(); len(o.Released) > 0 {
		r.t.Errorf("%+v is listed as released still", o.Released)
	}
}

func adoptedFromAFolder(r *run) {
	a, ours := newAdopter(r), r.clone(0)
	r.Person.AddVM(r.folder, "precious")
	var vm vsphere.VM
	r.until("the VM is there", func() bool {
		for _, vm = range r.observe().VMs {
			if vm.Name == "precious" {
				return true
			}
		}
		return false
	})
	a.refuses("one with a stamp", a.adoption(ours, vsphere.Origin{Folder: r.folder.Ref}), vsphere.KindForeign)
	a.refuses("another folder", a.adoption(vm, vsphere.Origin{Folder: r.Person.Outside()}), vsphere.KindForeign)
	r.Person.MoveOut(r.folder, vm)
	a.refuses("a folder in which it was", a.adoption(vm, vsphere.Origin{Folder: r.folder.Ref}), vsphere.KindForeign)
	content, err := r.Server.ReadFolder(r.ctx, r.Person.OutsidePath)
	r.ok(err)
	at := slices.IndexFunc(content.VMs, func(found vsphere.FoundVM) bool { return found.Ref == vm.Ref })
	if at < 0 || content.Folder != r.Person.Outside() || content.VMs[at].Marked || content.VMs[at].Stamp != nil || content.VMs[at].InstanceUUID != vm.InstanceUUID {
		r.t.Fatalf("in the folder are %+v", content)
	}
	if _, err := r.Server.ReadFolder(r.ctx, r.Person.OutsidePath+"/missing"); vsphere.KindOf(err) != vsphere.KindNotFound {
		r.t.Errorf("a folder that is not there: %v", err)
	}
	found, from := content.VMs[at].VM, vsphere.Origin{Folder: content.Folder}
	found.Folder = content.Folder
	ad := a.adoption(found, from)
	ad.Mark = vsphere.ReleaseMark{GroupID: vsphere.GroupID{Installation: id.Installation, Member: id.Member, Group: "legacy"}, Namespace: path.Namespace, Ordinal: 3, UUID: found.InstanceUUID}
	wrong := ad
	wrong.From.Folder = r.folder.Ref
	r.refused(r.Server.Claim(r.ctx, wrong), vsphere.KindForeign)
	r.ok(r.Server.Claim(r.ctx, ad))
	r.until("claimed", func() bool {
		content, err := r.Server.ReadFolder(r.ctx, r.Person.OutsidePath)
		r.ok(err)
		for _, now := range content.VMs {
			if now.Ref == vm.Ref {
				found = now.VM
				return now.Marked && now.Released != nil && *now.Released == ad.Mark && len(a.observation().InFlight) == 0
			}
		}
		return false
	})
	r.refused(r.Server.Claim(r.ctx, ad), vsphere.KindForeign)
	a.refuses("a mark outside of the root folder, without the grant", a.adoption(found, vsphere.Origin{Released: &ad.Mark}), vsphere.KindForeign)
	a.take(found, vsphere.Origin{Released: &ad.Mark, Folder: content.Folder})
}

// adoptedIntoATakenName tests that the name is the lock for adopted VMs, too.
func adoptedIntoATakenName(r *run) {
	a, first, second := newAdopter(r), r.clone(0), r.clone(1)
	a.take(first, vsphere.Origin{Stamp: first.Stamp})
	ad := a.adoption(second, vsphere.Origin{Stamp: second.Stamp})
	ad.Stamp.Ordinal = 4 // another ordinal, so that only the name conflicts
	r.ok(r.Server.Move(r.ctx, ad))
	a.sees("moved", second.Ref, func(now vsphere.VM) bool { return now.Folder == a.folder.Ref })
	if err := r.Server.Rename(r.ctx, ad); err != nil {
		r.refused(err, vsphere.KindNameTaken)
	}
	r.until("refused", func() bool {
		f := a.observation().Failures
		return len(f) == 1 && f[0].Kind == vsphere.OpRename && f[0].Ordinal == 4 && vsphere.KindOf(f[0].Err) == vsphere.KindNameTaken
	})
	a.sees("not renamed", second.Ref, func(now vsphere.VM) bool { return now.Name == second.Name && now.Stamp.Group == id.Group })
	r.Person.MoveFolderOut(a.folder)
	r.until("the folder is elsewhere", func() bool { return a.observation().FolderElsewhere })
	a.refuses("a folder outside of the root", ad, vsphere.KindConflict)
}
