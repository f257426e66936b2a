package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Left records that a stream, or vCenter's answer to a call, no longer shows these objects. They are suspects until confirmed. A read in progress cannot
// make them present again, even if the index did not know them.
func (x *Index) Left(refs ...vsphere.Ref) {
	touched := groups{}
	x.mu.Lock()
	before, _ := x.complete()
	var lost []vsphere.Ref
	for _, ref := range refs {
		if e := x.vms[ref]; e != nil && e.state == Present && x.ours(e) && !e.leaving {
			lost = append(lost, ref)
		}
		x.suspect(ref, touched)
	}
	x.guardLeft(lost)
	after, _ := x.complete()
	if before != after {
		x.everybody(touched)
	}
	x.unlock()
	x.notify(touched, before != after)
}

// Missed records that a look-up that began at began did not show these objects below the root. They become suspects. If an overlapping read has shown an
// object, it is looked up again instead. Single look-ups never count as a mass departure.
func (x *Index) Missed(began Moment, refs ...vsphere.Ref) {
	touched := groups{}
	x.mu.Lock()
	for _, ref := range refs {
		if x.presentSince(ref, began) {
			x.doubt(ref)
		} else {
			x.suspect(ref, touched)
		}
	}
	x.unlock()
	x.notify(touched, false)
}

// presentSince reports whether a read that arrived after began shows an object as present.
func (x *Index) presentSince(ref vsphere.Ref, began Moment) bool {
	if ref.Type == vsphere.TypeFolder {
		e := x.folders[ref]
		return e != nil && e.state == Present && began < e.since
	}
	e := x.vms[ref]
	return e != nil && e.state == Present && began < e.since
}

// suspect makes a suspect of a present or unknown object, from now on. Existing verdicts stay.
func (x *Index) suspect(ref vsphere.Ref, touched groups) {
	switch {
	case ref == x.root:
	case ref.Type == vsphere.TypeFolder:
		e := x.folders[ref]
		if e == nil {
			e = &folderEntry{folder: vsphere.Folder{Ref: ref}}
			x.folders[ref] = e
		}
		e.since = x.now()
		if e.state == Present || e.state == Unknown {
			x.setFolder(e, Suspect, touched)
		}
	default:
		e := x.vms[ref]
		if e == nil {
			e = &vmEntry{vm: vsphere.VM{Ref: ref}, unread: true}
			x.vms[ref] = e
		}
		e.since = x.now()
		if e.state == Present || e.state == Unknown {
			x.setVM(e, Suspect, touched)
		}
	}
}

// Made records a folder that a call that began at began created or found by name. A listing in progress can be older than the folder, so its lack of the
// folder proves nothing.
func (x *Index) Made(began Moment, folder vsphere.Folder) {
	touched := groups{}
	x.mu.Lock()
	x.putFolder(folder, reading{began: began, kind: aLookUp}, touched)
	x.unlock()
	x.notify(touched, false)
}
