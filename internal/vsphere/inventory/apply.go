package inventory

import (
	"maps"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Seen is a VM as a read returned it.
type Seen struct {
	vsphere.VM
	// Unread is true if vCenter returned no configuration for the VM, because its host is disconnected or the VM is being created. Its stamp is then unknown, and
	// the index keeps the known configuration.
	Unread bool
}

// ApplyListing applies a complete listing of the objects below the root folder. The read must begin after began was taken.
func (x *Index) ApplyListing(began Moment, vms []Seen, folders []vsphere.Folder) {
	x.applyAll(reading{began: began, kind: aListing}, vms, folders)
}

// ApplyStream applies the first answer of a stream, which is a complete listing. began must be taken before vCenter starts the watch, so that later updates
// contain each change after an object's evaluation.
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
	x.unlock()
	x.notify(touched, changed)
}

// missing makes suspects of present objects that a listing lacks. It returns the stamped VMs among them that this process did not destroy.
func (x *Index) missing(r reading, listed map[vsphere.Ref]struct{}, touched groups) []vsphere.Ref {
	var lost []vsphere.Ref
	for ref, e := range x.vms {
		if _, ok := listed[ref]; ok || e.state != Present && e.state != Suspect || x.shownSince(ref, e.since, e.state, r) {
			continue
		}
		if e.state == Present {
			e.since = x.now() // a suspect is being looked up, and must not count as overlapped again and again
		}
		x.setVM(e, Suspect, touched)
		if x.ours(e) && !e.leaving {
			lost = append(lost, ref)
		}
	}
	return lost
}

// shownSince reports whether an object that a listing lacks was shown by an overlapping read, so that it need not be missing. The next listing decides. For the
// first answer of a stream, a look-up decides.
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
	x.unlock()
	x.notify(touched, before != after)
}

// Show applies the updates of a stream: all base properties of each VM after the update. It returns the VMs to read whole, because the index does not know them
// or their configuration changed.
func (x *Index) Show(vms []vsphere.VM) (unread []vsphere.Ref) {
	touched := groups{}
	x.mu.Lock()
	for i := range vms {
		if !x.showVM(vms[i], touched) {
			unread = append(unread, vms[i].Ref)
		}
	}
	x.unlock()
	x.notify(touched, false)
	return unread
}

// Leaving records that this process submitted a VM's destruction, so that its absence is expected.
func (x *Index) Leaving(ref vsphere.Ref) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.vms[ref]; e != nil {
		e.leaving = true
	}
}

// Elsewhere returns the remembered objects outside of the root folder.
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

// expire forgets verdicts for which no query asks any more. Groups that can still depend on one are notified, observe again, and cause a new look-up.
func (x *Index) expire(touched groups) {
	before := x.cfg.Now().Add(-keepVerdict)
	for ref, e := range x.vms {
		if (e.state == Gone || e.state == Elsewhere) && e.asked.Before(before) {
			x.touch(e, touched)
			delete(x.vms, ref)
			delete(x.waiting, ref)
		}
	}
	for ref, e := range x.folders {
		if (e.state == Gone || e.state == Elsewhere) && e.asked.Before(before) {
			x.touchFolder(ref, touched)
			delete(x.folders, ref)
			delete(x.owners, ref)
		}
	}
}

// everybody collects all groups, because completeness concerns each of them.
func (x *Index) everybody(touched groups) {
	for g := range x.byGroup {
		touched[g] = struct{}{}
	}
	for _, owners := range x.owners {
		maps.Copy(touched, owners)
	}
}
