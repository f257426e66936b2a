package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Left says that a stream, or vCenter's answer to a call, no longer shows these objects. They are suspects until confirmed. A read that is under way cannot
// make them present again, not even one that the index does not know yet.
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
	x.mu.Unlock()
	x.notify(touched, before != after)
}

// Missed says that a look-up which began at began did not show these objects below the root. They are suspects, unless a read that overlaps it has shown
// them: then they are looked up once more. What is looked up object by object is no mass departure.
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
	x.mu.Unlock()
	x.notify(touched, false)
}

// presentSince reports whether an object is present by a read that arrived after began.
func (x *Index) presentSince(ref vsphere.Ref, began Moment) bool {
	if ref.Type == vsphere.TypeFolder {
		e := x.folders[ref]
		return e != nil && e.state == Present && began < e.since
	}
	e := x.vms[ref]
	return e != nil && e.state == Present && began < e.since
}

// suspect makes a suspect of an object that is present or unknown, from now on. Verdicts stay what they are.
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

// Made records a folder that a call which began at began has made, or found under its name. Any listing that is under way by now may have been read before
// that, and says nothing of the folder.
func (x *Index) Made(began Moment, folder vsphere.Folder) {
	touched := groups{}
	x.mu.Lock()
	x.putFolder(folder, reading{began: began, kind: aLookUp}, touched)
	x.mu.Unlock()
	x.notify(touched, false)
}
