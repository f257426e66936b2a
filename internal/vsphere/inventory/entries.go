package inventory

import (
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// putVM stores what a read that began at moment showed, and collects the groups for which that is news.
func (x *Index) putVM(vm vsphere.VM, unread bool, at Moment, touched groups) {
	e := x.vms[vm.Ref]
	switch {
	case e == nil:
		e = &vmEntry{}
		x.vms[vm.Ref] = e
	case e.read > at:
		return
	}
	if unread && e.state != Unknown && e.state != Gone && !e.unread {
		keepDetails(&vm, &e.vm)
		unread = false
	}
	e.read = at
	if e.state == Present && e.unread == unread && equalVM(&e.vm, &vm) {
		return
	}
	if !unread {
		x.changed(e, &vm)
	}
	x.unlink(e, touched)
	e.vm, e.state, e.unread, e.age = vm, Present, unread, 0
	x.link(e, touched)
	delete(x.waiting, vm.Ref)
}

// keepDetails takes over what only the configuration tells.
func keepDetails(to, from *vsphere.VM) {
	to.CPU, to.MemoryMiB, to.HotAdd, to.IsTemplate = from.CPU, from.MemoryMiB, from.HotAdd, from.IsTemplate
	to.ChangeVersion, to.InstanceUUID = from.ChangeVersion, from.InstanceUUID
	to.Stamp, to.Tombstone, to.Released = from.Stamp, from.Tombstone, from.Released
}

func equalVM(a, b *vsphere.VM) bool {
	if !same(a.Stamp, b.Stamp) || !same(a.Released, b.Released) {
		return false
	}
	ca, cb := *a, *b
	ca.Stamp, cb.Stamp, ca.Released, cb.Released = nil, nil, nil, nil
	return ca == cb
}

func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// setVM moves an entry to another state.
func (x *Index) setVM(e *vmEntry, s State, touched groups) {
	if e.state == s {
		return
	}
	e.state, e.age = s, 0
	x.touch(e, touched)
	if s == Gone || s == Elsewhere {
		x.unlink(e, touched)
	}
	if s == Gone {
		delete(x.waiting, e.vm.Ref)
	}
}

func (x *Index) link(e *vmEntry, touched groups) {
	if id, ok := named(&e.vm); ok {
		add(x.byGroup, id.Key(), e.vm.Ref)
	}
	if !e.vm.Folder.IsZero() {
		add(x.byFolder, e.vm.Folder, e.vm.Ref)
		x.lives(e)
	}
	x.touch(e, touched)
}

// lives notes that the folder of a VM of this installation is one of its folders.
func (x *Index) lives(e *vmEntry) {
	id, ok := named(&e.vm)
	if f := x.folders[e.vm.Folder]; f != nil && ok && id.Installation == x.cfg.Installation {
		f.ours = true
	}
}

func (x *Index) unlink(e *vmEntry, touched groups) {
	if e.vm.Ref.IsZero() {
		return
	}
	x.touch(e, touched)
	if id, ok := named(&e.vm); ok {
		remove(x.byGroup, id.Key(), e.vm.Ref)
	}
	remove(x.byFolder, e.vm.Folder, e.vm.Ref)
}

// named returns the group that a VM's stamp names, or its release mark if it has no stamp.
func named(vm *vsphere.VM) (id vsphere.GroupID, ok bool) {
	switch {
	case vm.Stamp != nil:
		return vm.Stamp.GroupID, true
	case vm.Released != nil:
		return vm.Released.GroupID, true
	}
	return id, false
}

// ours reports whether a VM carries a stamp of this installation.
func (x *Index) ours(e *vmEntry) bool {
	return e.vm.Stamp != nil && e.vm.Stamp.Installation == x.cfg.Installation
}

// touch collects the groups that care about a VM: that of its stamp or release mark, that of its folder, and those that wait for
// its fate.
func (x *Index) touch(e *vmEntry, touched groups) {
	if id, ok := named(&e.vm); ok {
		touched[id.Key()] = struct{}{}
	}
	x.touchFolder(e.vm.Folder, touched)
	for g := range x.waiting[e.vm.Ref] {
		touched[g] = struct{}{}
	}
}

// touchFolder collects the groups that asked for a folder.
func (x *Index) touchFolder(ref vsphere.Ref, touched groups) {
	for g := range x.owners[ref] {
		touched[g] = struct{}{}
	}
}

func (x *Index) putFolder(f vsphere.Folder, at Moment, touched groups) {
	e := x.folders[f.Ref]
	switch {
	case e == nil:
		e = &folderEntry{}
		x.folders[f.Ref] = e
		for vm := range x.byFolder[f.Ref] {
			x.lives(x.vms[vm])
		}
	case e.read > at:
		return
	}
	e.read = at
	f.Path = x.pathOf(f)
	if e.state == Present && e.folder == f {
		return
	}
	x.unchild(e)
	if e.state != Present {
		x.touchFolder(f.Ref, touched)
	}
	e.folder, e.state, e.age = f, Present, 0
	x.children[childKey{f.Parent, f.Name}] = f.Ref
}

func (x *Index) setFolder(e *folderEntry, s State, touched groups) {
	if e.state == s {
		return
	}
	e.state, e.age = s, 0
	x.unchild(e)
	x.touchFolder(e.folder.Ref, touched)
}

// dropFolder forgets a folder without a verdict.
func (x *Index) dropFolder(ref vsphere.Ref) {
	if e := x.folders[ref]; e != nil {
		x.unchild(e)
		delete(x.folders, ref)
	}
}

func (x *Index) unchild(e *folderEntry) {
	key := childKey{e.folder.Parent, e.folder.Name}
	if x.children[key] == e.folder.Ref {
		delete(x.children, key)
	}
}

// pathOf completes the path of a folder from its parent's; the root's own path is given.
func (x *Index) pathOf(f vsphere.Folder) string {
	if f.Ref == x.root {
		return f.Path
	}
	if p := x.folders[f.Parent]; p != nil && p.folder.Path != "" {
		return p.folder.Path + "/" + f.Name
	}
	return f.Name
}

func add[K, V comparable, S ~map[V]struct{}](m map[K]S, key K, value V) {
	if m[key] == nil {
		m[key] = S{}
	}
	m[key][value] = struct{}{}
}

func remove[K comparable](m map[K]map[vsphere.Ref]struct{}, key K, ref vsphere.Ref) {
	delete(m[key], ref)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
