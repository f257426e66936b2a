package inventory

import (
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// putVM stores a VM from a read, and collects the groups for which the content is new. If the read overlaps the entry's source, vCenter can have evaluated
// either of the two last. Equal content then stays. If the content differs, the entry keeps its own until another read decides.
func (x *Index) putVM(seen Seen, r reading, touched groups) {
	vm, unread := seen.VM, seen.Unread
	e := x.vms[vm.Ref]
	if e == nil {
		e = &vmEntry{}
		x.vms[vm.Ref] = e
	}
	if x.unlisted(e.state, r) {
		x.doubt(vm.Ref)
	}
	overlaps := r.began < e.since
	if overlaps && e.state != Present {
		x.contest(e, seen, touched)
		return
	}
	if unread && e.state != Unknown && e.state != Gone && !e.unread {
		keepConfig(&vm, &e.vm)
		unread = false
	}
	if e.state == Present && r.began < e.told && r.kind != aStream {
		keepBase(&vm, &e.vm)
	}
	if overlaps && !x.decides(e, &vm, &unread, r) {
		return
	}
	e.since = x.now()
	if r.kind == aStream {
		e.told = e.since
	}
	if e.state == Present && e.unread == unread && equalVM(&e.vm, &vm) {
		return
	}
	if !unread {
		x.changed(e, &vm)
	}
	x.enter(e, vm, unread, Present, touched)
}

// contest applies an overlapping read to a VM that is not present. The VM's owner counts until there is a verdict.
func (x *Index) contest(e *vmEntry, seen Seen, touched groups) {
	if e.state == Elsewhere || e.state == Suspect && e.unread {
		x.enter(e, seen.VM, seen.Unread, Suspect, touched)
	}
}

// decides reports whether a read that overlaps the entry's source can be applied, and removes the parts that cannot.
func (x *Index) decides(e *vmEntry, vm *vsphere.VM, unread *bool, r reading) bool {
	same := e.unread == *unread && equalVM(&e.vm, vm)
	switch {
	case same:
	case r.kind == aListing:
		return false
	case r.kind == aLookUp:
		x.doubt(vm.Ref)
		return false
	case !e.unread:
		base := *vm
		if keepConfig(vm, &e.vm); *unread || !equalVM(&base, vm) {
			x.doubt(vm.Ref)
		}
		*unread = false
	}
	return true
}

// showVM applies the base properties of a VM from a stream. It returns false if the VM must be read whole.
func (x *Index) showVM(vm vsphere.VM, touched groups) bool {
	e := x.vms[vm.Ref]
	if e == nil || e.state != Present || e.unread {
		return false
	}
	if f := x.folders[vm.Folder]; f == nil || f.state != Present {
		return false
	}
	if e.configDiffers(&vm) {
		return false
	}
	keepConfig(&vm, &e.vm)
	e.told = x.now()
	if !equalVM(&e.vm, &vm) {
		x.changed(e, &vm)
		x.enter(e, vm, false, Present, touched)
	}
	return true
}

// enter replaces the content of an entry.
func (x *Index) enter(e *vmEntry, vm vsphere.VM, unread bool, s State, touched groups) {
	x.unlink(e, touched)
	e.vm, e.state, e.unread, e.asked, e.version = vm, s, unread, x.cfg.Now(), x.nextVersion()
	x.recount(e)
	x.link(e, touched)
	if s == Present {
		e.path, e.search, e.destroyed = "", nil, false
		delete(x.waiting, vm.Ref) // these groups observe again, and wait again if they must
	}
}

func (x *Index) nextVersion() uint64 {
	x.version++
	return x.version
}

// keepConfig copies the values that only the configuration contains.
func keepConfig(to, from *vsphere.VM) {
	to.CPU, to.MemoryMiB, to.RootDiskGiB, to.DataDisks, to.HotAdd, to.Devices, to.IsTemplate = from.CPU, from.MemoryMiB, from.RootDiskGiB, from.DataDisks, from.HotAdd, from.Devices, from.IsTemplate
	to.ChangeVersion, to.InstanceUUID = from.ChangeVersion, from.InstanceUUID
	to.Stamp, to.Tombstone, to.Released = from.Stamp, from.Tombstone, from.Released
}

// keepBase copies all values from a stream except those of the configuration.
func keepBase(to, from *vsphere.VM) {
	base := *from
	keepConfig(&base, to)
	*to = base
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

// setVM changes the state of an entry.
func (x *Index) setVM(e *vmEntry, s State, touched groups) {
	if e.state == s {
		return
	}
	e.state, e.asked, e.version = s, x.cfg.Now(), x.nextVersion()
	x.recount(e)
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

// lives marks the folder of a VM of this installation as one of its folders.
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

// named returns the group in a VM's stamp or, without a stamp, in its release mark.
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

// touch collects the groups that a VM concerns: the group of its stamp or release mark, the groups of its folder, and those that wait for a verdict.
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
