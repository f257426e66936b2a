package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// ConfirmElsewhere records that a VM is outside of the root folder, according to a read that began at began.
func (x *Index) ConfirmElsewhere(began Moment, vm Outside) {
	touched := groups{}
	x.mu.Lock()
	x.confirmVM(began, vm.Ref, Elsewhere, &vm.Seen, touched)
	if e := x.vms[vm.Ref]; e.state == Elsewhere && e.path != vm.Path {
		e.path = vm.Path
		x.touch(e, touched)
	}
	x.unlock()
	x.notify(touched, false)
}

// ConfirmFolderElsewhere records that a folder is outside of the root folder, according to a read that began at began. The folder's name shows whether it ever
// was the folder of the group whose status names it.
func (x *Index) ConfirmFolderElsewhere(began Moment, folder vsphere.Folder) {
	touched := groups{}
	x.mu.Lock()
	x.confirmFolder(began, folder.Ref, Elsewhere, &folder, touched)
	x.unlock()
	x.notify(touched, false)
}

// Confirm records a verdict on one object, from a read that began at began: Gone or Elsewhere.
func (x *Index) Confirm(began Moment, ref vsphere.Ref, verdict State) {
	touched := groups{}
	x.mu.Lock()
	if ref.Type == vsphere.TypeFolder {
		x.confirmFolder(began, ref, verdict, nil, touched)
	} else {
		x.confirmVM(began, ref, verdict, nil, touched)
	}
	x.unlock()
	x.notify(touched, false)
}

func (x *Index) confirmFolder(began Moment, ref vsphere.Ref, verdict State, seen *vsphere.Folder, touched groups) {
	e := x.folders[ref]
	if e == nil {
		e = &folderEntry{folder: vsphere.Folder{Ref: ref}}
		x.folders[ref] = e
	}
	if !x.convicts(ref, began, e.since, e.state, verdict) {
		return
	}
	e.since = x.now()
	if seen != nil && (e.folder.Name != seen.Name || e.folder.Parent != seen.Parent) {
		x.unchild(e)
		x.touchTree(ref, touched, deepest)
		e.folder, e.version = *seen, x.nextVersion()
	}
	x.setFolder(e, verdict, touched)
	if verdict == Gone {
		delete(x.owners, ref) // no other group will ask for it
	}
}

func (x *Index) confirmVM(began Moment, ref vsphere.Ref, verdict State, seen *Seen, touched groups) {
	e := x.vms[ref]
	if e == nil {
		e = &vmEntry{vm: vsphere.VM{Ref: ref}, unread: true}
		x.vms[ref] = e
	}
	if !x.convicts(ref, began, e.since, e.state, verdict) {
		return
	}
	e.since = x.now()
	x.left(e, verdict, seen)
	e.destroyed = e.destroyed || e.leaving && verdict == Gone
	e.leaving = e.leaving && verdict != Gone
	if seen != nil && (!seen.Unread || e.vm.Stamp == nil) {
		x.unlink(e, touched) // waiting groups are notified, because the owner can be new
		e.vm, e.unread, e.version = seen.VM, seen.Unread, x.nextVersion()
	}
	x.setVM(e, verdict, touched)
}

// convicts reports whether a verdict counts. A missing object was destroyed for good, although all reads in progress can still show it. Only a vCenter that was
// restored from a backup reuses a reference for another object, which a later read shows. An object elsewhere can have come back since. If an overlapping read
// shows that object below the root, it is looked up again.
func (x *Index) convicts(ref vsphere.Ref, began, since Moment, state, verdict State) bool {
	if verdict == Gone || began >= since {
		return true
	}
	if state == Present {
		x.doubt(ref)
	}
	return state == Elsewhere
}
