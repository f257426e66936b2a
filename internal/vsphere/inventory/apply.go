package inventory

import (
	"maps"

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
	x.applyAll(reading{began: began, kind: aListing}, vms, folders)
}

// ApplyStream applies the first answer of a stream, which is a complete listing. began was taken before vCenter began to watch, so that each change
// after an object was evaluated comes with the news.
func (x *Index) ApplyStream(began Moment, vms []Seen, folders []vsphere.Folder) {
	x.applyAll(reading{began: began, kind: aStream}, vms, folders)
}

func (x *Index) applyAll(r reading, vms []Seen, folders []vsphere.Folder) {
	touched := groups{}
	x.mu.Lock()
	before, whyBefore := x.complete()

	x.applyFolders(r, folders, touched)
	listed := make(map[vsphere.Ref]struct{}, len(vms))
	stamped := 0
	for i := range vms {
		listed[vms[i].Ref] = struct{}{}
		x.putVM(vms[i], r, touched)
		if e := x.vms[vms[i].Ref]; e.state == Present && x.ours(e) {
			stamped++
		}
	}
	missing := x.missing(r, listed, touched)
	x.guardListing(missing, stamped)
	x.expire(touched)
	x.valid, x.reason, x.listed = true, "", true
	x.applied, x.arrived = max(x.applied, r.began), x.now()

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
func (x *Index) missing(r reading, listed map[vsphere.Ref]struct{}, touched groups) []vsphere.Ref {
	var lost []vsphere.Ref
	for ref, e := range x.vms {
		if _, ok := listed[ref]; ok || e.state != Present && e.state != Suspect || x.shownSince(ref, e.since, e.state, r) {
			continue
		}
		if e.state == Present {
			e.since = x.now() // one that is missing already is being looked up, and that must not count as overlapped again and again
		}
		x.setVM(e, Suspect, touched)
		if x.ours(e) && !e.leaving {
			lost = append(lost, ref)
		}
	}
	return lost
}

// shownSince reports whether an object that a listing lacks was shown by a read that overlaps it, so that it need not be missing. The next listing decides, or,
// of what the first answer of a stream lacks, a look-up.
func (x *Index) shownSince(ref vsphere.Ref, since Moment, state State, r reading) bool {
	if r.began >= since {
		return false
	}
	if r.kind == aStream && state == Present {
		x.doubt(ref)
	}
	return true
}

func (x *Index) applyFolders(r reading, folders []vsphere.Folder, touched groups) {
	listed := make(map[vsphere.Ref]struct{}, len(folders))
	for _, f := range folders {
		listed[f.Ref] = struct{}{}
		x.putFolder(f, r, touched)
	}
	for ref, e := range x.folders {
		if _, ok := listed[ref]; ok || ref == x.root || e.state != Present || x.shownSince(ref, e.since, e.state, r) {
			continue
		}
		e.since = x.now()
		x.setFolder(e, Suspect, touched)
	}
}

// Upsert applies a read of single objects that began at began.
func (x *Index) Upsert(began Moment, vms []Seen, folders []vsphere.Folder) {
	r, touched := reading{began: began, kind: aLookUp}, groups{}
	x.mu.Lock()
	before, _ := x.complete()
	for _, f := range folders {
		x.putFolder(f, r, touched)
	}
	for i := range vms {
		x.putVM(vms[i], r, touched)
	}
	x.reappeared()
	after, _ := x.complete()
	if before != after {
		x.everybody(touched)
	}
	x.mu.Unlock()
	x.notify(touched, before != after)
}

// Show applies what a stream tells of VMs: all base properties of each, as they are after its news. It returns the VMs that have to be read whole, because the
// index does not know them or their configuration has changed.
func (x *Index) Show(vms []vsphere.VM) (unread []vsphere.Ref) {
	touched := groups{}
	x.mu.Lock()
	for i := range vms {
		if !x.showVM(vms[i], touched) {
			unread = append(unread, vms[i].Ref)
		}
	}
	x.mu.Unlock()
	x.notify(touched, false)
	return unread
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
