package inventory

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Seen is a VM as a read showed it.
type Seen struct {
	vsphere.VM
	// Unread is true when vCenter gave no configuration for the VM (its host is disconnected, or it is being
	// created), so that its stamp is not known. What was known of it is kept.
	Unread bool
}

// ApplyListing applies a complete listing of what is below the root folder, read after began was taken.
func (x *Index) ApplyListing(began Moment, vms []Seen, folders []vsphere.Folder) {
	touched := groups{}
	x.mu.Lock()
	before, whyBefore := x.complete()

	x.applyFolders(began, folders, touched)
	listed := make(map[vsphere.Ref]struct{}, len(vms))
	stamped := 0
	for i := range vms {
		listed[vms[i].Ref] = struct{}{}
		x.putVM(vms[i].VM, vms[i].Unread, began, touched)
		if e := x.vms[vms[i].Ref]; e.state == Present && x.ours(e) {
			stamped++
		}
	}
	missing := x.missing(began, listed, touched)
	x.guardListing(missing, stamped)
	x.expire(touched)
	x.valid, x.reason, x.listed = true, "", true
	x.applied = max(x.applied, began)

	after, why := x.complete()
	changed := before != after || whyBefore != why
	if changed {
		x.everybody(touched)
	}
	x.mu.Unlock()
	x.notify(touched, changed)
}

// missing makes suspects of what a listing should have shown and did not, and returns the stamped VMs of them
// that we did not destroy ourselves.
func (x *Index) missing(began Moment, listed map[vsphere.Ref]struct{}, touched groups) []vsphere.Ref {
	var lost []vsphere.Ref
	for ref, e := range x.vms {
		if _, ok := listed[ref]; ok || e.read > began || (e.state != Present && e.state != Suspect) {
			continue
		}
		x.setVM(e, Suspect, touched)
		if x.ours(e) && !e.leaving {
			lost = append(lost, ref)
		}
	}
	return lost
}

func (x *Index) applyFolders(began Moment, folders []vsphere.Folder, touched groups) {
	// Parents first, so that paths can be built; the depth of a listing is small.
	pending := slices.Clone(folders)
	for progress := true; progress && len(pending) > 0; {
		progress = false
		rest := pending[:0]
		for _, f := range pending {
			if p := x.folders[f.Parent]; p == nil {
				rest = append(rest, f)
				continue
			}
			x.putFolder(f, began, touched)
			progress = true
		}
		pending = rest
	}
	for _, f := range pending {
		x.putFolder(f, began, touched)
	}
	listed := make(map[vsphere.Ref]struct{}, len(folders))
	for _, f := range folders {
		listed[f.Ref] = struct{}{}
	}
	for ref, e := range x.folders {
		if _, ok := listed[ref]; ok || ref == x.root || e.read > began || e.state != Present {
			continue
		}
		x.setFolder(e, Suspect, touched)
	}
}

// Upsert applies a read of single objects that began at began.
func (x *Index) Upsert(began Moment, vms []Seen, folders []vsphere.Folder) {
	touched := groups{}
	x.mu.Lock()
	before, _ := x.complete()
	for _, f := range folders {
		x.putFolder(f, began, touched)
	}
	for i := range vms {
		x.putVM(vms[i].VM, vms[i].Unread, began, touched)
	}
	x.reappeared()
	after, _ := x.complete()
	if before != after {
		x.everybody(touched)
	}
	x.mu.Unlock()
	x.notify(touched, before != after)
}

// Made records a folder that a call which began at began has made, or found under its name. Any listing that is under way by now may have been read before
// that, and says nothing of the folder.
func (x *Index) Made(began Moment, folder vsphere.Folder) {
	touched := groups{}
	x.mu.Lock()
	x.putFolder(folder, began, touched)
	if e := x.folders[folder.Ref]; e.read == began {
		e.read = x.moment + 1
	}
	x.mu.Unlock()
	x.notify(touched, false)
}

// Left says that a feed no longer shows these objects. They are suspects until confirmed.
func (x *Index) Left(refs ...vsphere.Ref) {
	touched := groups{}
	x.mu.Lock()
	before, _ := x.complete()
	var lost []vsphere.Ref
	for _, ref := range refs {
		if e := x.vms[ref]; e != nil && e.state == Present {
			x.setVM(e, Suspect, touched)
			if x.ours(e) && !e.leaving {
				lost = append(lost, ref)
			}
		}
		if e := x.folders[ref]; e != nil && e.state == Present && ref != x.root {
			x.setFolder(e, Suspect, touched)
		}
	}
	x.guardLeft(lost)
	after, _ := x.complete()
	if before != after {
		x.everybody(touched)
	}
	x.mu.Unlock()
	x.notify(touched, before != after)
}

// ConfirmElsewhere records that a VM is outside of the root folder, as a read that began at began showed it.
func (x *Index) ConfirmElsewhere(began Moment, vm Seen) {
	x.confirm(func(touched groups) { x.confirmVM(began, vm.Ref, Elsewhere, &vm, touched) })
}

// ConfirmFolderElsewhere records that a folder is outside of the root folder, as a read that began at began showed it. Its name tells
// whether it ever was the folder of the group whose status names it.
func (x *Index) ConfirmFolderElsewhere(began Moment, folder vsphere.Folder) {
	x.confirm(func(touched groups) { x.confirmFolder(began, folder.Ref, Elsewhere, &folder, touched) })
}

// Confirm records a verdict on one object, from a read that began at began: Gone or Elsewhere.
func (x *Index) Confirm(began Moment, ref vsphere.Ref, verdict State) {
	x.confirm(func(touched groups) {
		if ref.Type == vsphere.TypeFolder {
			x.confirmFolder(began, ref, verdict, nil, touched)
		} else {
			x.confirmVM(began, ref, verdict, nil, touched)
		}
	})
}

// confirm runs a verdict with the lock held, and tells the groups that it collects.
func (x *Index) confirm(verdict func(touched groups)) {
	touched := groups{}
	x.mu.Lock()
	verdict(touched)
	x.mu.Unlock()
	x.notify(touched, false)
}

func (x *Index) confirmFolder(began Moment, ref vsphere.Ref, verdict State, seen *vsphere.Folder, touched groups) {
	e := x.folders[ref]
	if e == nil {
		e = &folderEntry{folder: vsphere.Folder{Ref: ref}}
		x.folders[ref] = e
	}
	if e.read > began && verdict != Gone {
		return
	}
	e.read = x.since(began, verdict)
	if seen != nil && e.folder.Name != seen.Name {
		x.unchild(e)
		x.touchFolder(ref, touched)
		e.folder = *seen
	}
	x.setFolder(e, verdict, touched)
	if verdict == Gone {
		delete(x.owners, ref) // nobody else will ask for it
	}
}

func (x *Index) confirmVM(began Moment, ref vsphere.Ref, verdict State, seen *Seen, touched groups) {
	e := x.vms[ref]
	if e == nil {
		e = &vmEntry{vm: vsphere.VM{Ref: ref}, unread: true}
		x.vms[ref] = e
	}
	// What does not exist was destroyed for good; a VM that is elsewhere may have come back since.
	if e.read > began && verdict != Gone {
		return
	}
	e.read = x.since(began, verdict)
	x.left(e, verdict, seen)
	e.leaving = e.leaving && verdict != Gone
	if seen != nil && (!seen.Unread || e.vm.Stamp == nil) {
		x.unlink(e, touched) // who waits for it is told: whose it is may be news
		e.vm, e.unread = seen.VM, seen.Unread
	}
	x.setVM(e, verdict, touched)
}

// since returns from which reads on a verdict may be overruled. Any read that is under way when an object is known to be gone may
// have been before its end, and still show it. Only a vCenter that was restored from a backup gives the reference to another object;
// that is shown by a read that begins later.
func (x *Index) since(began Moment, verdict State) Moment {
	if verdict == Gone {
		return x.moment + 1
	}
	return began
}

// Suspects returns the objects that wait for a verdict.
func (x *Index) Suspects() []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []vsphere.Ref
	for ref, e := range x.vms {
		if e.state == Suspect {
			out = append(out, ref)
		}
	}
	for ref, e := range x.folders {
		if e.state == Suspect {
			out = append(out, ref)
		}
	}
	sortRefs(out)
	return out
}

// Leaving says that we submitted a VM's destruction, so that its absence is no surprise.
func (x *Index) Leaving(ref vsphere.Ref) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.vms[ref]; e != nil {
		e.leaving = true
	}
}

// Elsewhere returns the objects that are outside of the root folder, as far as they are remembered.
func (x *Index) Elsewhere() []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []vsphere.Ref
	for ref, e := range x.vms {
		if e.state == Elsewhere {
			out = append(out, ref)
		}
	}
	for ref, e := range x.folders {
		if e.state == Elsewhere {
			out = append(out, ref)
		}
	}
	sortRefs(out)
	return out
}

// expire forgets old verdicts. Whoever may still count on one is told, looks again, and has it looked up anew.
func (x *Index) expire(touched groups) {
	for ref, e := range x.vms {
		if e.state == Gone || e.state == Elsewhere {
			if e.age++; e.age > keepListings {
				x.touch(e, touched)
				delete(x.vms, ref)
				delete(x.waiting, ref)
			}
		}
	}
	for ref, e := range x.folders {
		if e.state == Gone || e.state == Elsewhere {
			if e.age++; e.age > keepListings {
				x.touchFolder(ref, touched)
				delete(x.folders, ref)
				delete(x.owners, ref)
			}
		}
	}
}

// everybody collects all groups: completeness concerns each of them.
func (x *Index) everybody(touched groups) {
	for g := range x.byGroup {
		touched[g] = struct{}{}
	}
	for _, owners := range x.owners {
		maps.Copy(touched, owners)
	}
}
