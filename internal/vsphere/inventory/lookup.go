package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Group is the index's knowledge of one group.
type Group struct {
	// VMs are the VMs with the group's stamp or in its folder, and known ones anywhere below the root.
	VMs []vsphere.VM
	// Released are VMs below the root with the group's release mark and no stamp. They include missing VMs until there is a verdict.
	Released []vsphere.VM
	// Unread are VMs in the folder, or known ones, whose stamp is unreadable. They are not in VMs.
	Unread []vsphere.VM
	// Suspects are missing VMs outside of the known ones. They carry the group's stamp, or lie in its folder with a stamp that was never read. Their absence
	// proves nothing.
	Suspects []vsphere.VM
	// Gone and Elsewhere are known VMs with a verdict.
	Gone, Elsewhere []vsphere.Ref
	// Searched are those of Gone that were searched for by instance UUID. The operator destroyed the others.
	Searched []vsphere.Ref
	// Found maps references of Elsewhere to the VMs' locations.
	Found map[vsphere.Ref]vsphere.Found
	// Others are known VMs outside of the root folder that do not carry the group's stamp.
	Others []vsphere.Ref
	// Ask are known objects without a verdict. The caller must look them up.
	Ask []vsphere.Ref
	// Dropped are unknown VMs and folders that this group asked for before and that no group waits for any more. They need no verdict.
	Dropped []vsphere.Ref
	// Folder is the group's folder if it is present. If it is elsewhere, Folder has only its reference and, if known, its name.
	Folder vsphere.Folder
	// FolderGone and FolderElsewhere are the verdict on the group's folder.
	FolderGone, FolderElsewhere bool
}

// Group looks up a group, and remembers that the group asked for the folder.
func (x *Index) Group(q vsphere.Query) Group {
	x.mu.Lock()
	defer x.mu.Unlock()
	var g Group
	known := make(map[vsphere.Ref]struct{}, len(q.Known))
	for _, ref := range q.Known {
		known[ref] = struct{}{}
	}
	x.folderOf(q, &g)

	candidates := map[vsphere.Ref]struct{}{}
	for ref := range x.byGroup[q.ID.Key()] {
		if e := x.vms[ref]; e.vm.Stamp == nil {
			g.Released = append(g.Released, clone(e.vm))
		} else {
			candidates[ref] = struct{}{}
		}
	}
	for ref := range x.byFolder[q.Folder] {
		candidates[ref] = struct{}{}
	}
	for ref := range known {
		candidates[ref] = struct{}{}
	}
	for ref := range candidates {
		_, isKnown := known[ref]
		x.classify(ref, isKnown, q, &g)
	}
	if len(known) > 0 {
		g.Dropped = append(g.Dropped, x.drop(q.ID.Key(), known)...)
	}
	g.sort()
	return g
}

// drop ends a group's wait for VMs that it no longer knows. It returns the unknown ones among them that no other group waits for. Status can be invented, with
// new references each time. The caller holds the lock.
func (x *Index) drop(group vsphere.GroupKey, known map[vsphere.Ref]struct{}) (dropped []vsphere.Ref) {
	for ref := range x.awaited[group] {
		if _, still := known[ref]; still {
			continue
		}
		remove(x.awaited, group, ref)
		delete(x.waiting[ref], group)
		if len(x.waiting[ref]) > 0 {
			continue
		}
		delete(x.waiting, ref)
		if x.vms[ref] == nil {
			dropped = append(dropped, ref)
		}
	}
	return dropped
}

// Forget ends the waits of a deleted group, and returns the unknown VMs and folders that no other group waits for.
func (x *Index) Forget(group vsphere.GroupKey) []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append(x.dropAsked(group), x.drop(group, nil)...)
}

// dropAsked ends a group's wait for an unknown folder, and returns the folder if no other group waits for it. The caller holds the lock.
func (x *Index) dropAsked(group vsphere.GroupKey) []vsphere.Ref {
	ref, asked := x.unknownFolders[group]
	delete(x.unknownFolders, group)
	if !asked || x.folders[ref] != nil {
		return nil
	}
	if delete(x.owners[ref], group); len(x.owners[ref]) > 0 {
		return nil
	}
	delete(x.owners, ref)
	return []vsphere.Ref{ref}
}

func (x *Index) folderOf(q vsphere.Query, g *Group) {
	if q.Folder.IsZero() {
		if g.Folder = x.placed(x.at(q.Path)); !g.Folder.Ref.IsZero() {
			add(x.owners, g.Folder.Ref, q.ID.Key())
		}
		return
	}
	e := x.folders[q.Folder]
	if e == nil && x.unknownFolders[q.ID.Key()] != q.Folder {
		g.Dropped = x.dropAsked(q.ID.Key())
		x.unknownFolders[q.ID.Key()] = q.Folder
	}
	switch {
	case e != nil && e.state == Gone:
		g.FolderGone, e.asked = true, x.cfg.Now()
		return
	case e != nil && e.state == Elsewhere:
		g.FolderElsewhere, g.Folder, e.asked = true, vsphere.Folder{Ref: q.Folder, Name: e.folder.Name}, x.cfg.Now()
	case e == nil || e.state == Suspect:
		g.Ask = append(g.Ask, q.Folder)
	default:
		g.Folder = x.placed(x.shown(e))
	}
	add(x.owners, q.Folder, q.ID.Key())
}

func (x *Index) classify(ref vsphere.Ref, known bool, q vsphere.Query, g *Group) {
	e := x.vms[ref]
	if known && !e.leadsTo(q) {
		add(x.waiting, ref, q.ID.Key())
		add(x.awaited, q.ID.Key(), ref)
	}
	switch {
	case e == nil:
		g.Ask = append(g.Ask, ref)
	case e.state == Present && e.unread:
		g.Unread = append(g.Unread, e.vm)
	case e.state == Present:
		g.VMs = append(g.VMs, clone(e.vm))
	case known:
		x.absent(ref, e, q, g)
	case e.state == Suspect && (e.stampedFor(q.ID) || e.unread && e.vm.Folder == q.Folder):
		g.Suspects = append(g.Suspects, clone(e.vm))
	}
}

// absent classifies a known VM that is not present.
func (x *Index) absent(ref vsphere.Ref, e *vmEntry, q vsphere.Query, g *Group) {
	e.asked = x.cfg.Now()
	switch {
	case e.state == Gone:
		x.gone(e, q, g)
	case e.state == Elsewhere && (e.unread || e.stampedFor(q.ID)):
		g.elsewhere(ref, vsphere.Found{Ref: ref, Path: e.path})
	case e.state == Elsewhere:
		g.Others = append(g.Others, ref)
	case e.state == Suspect:
		g.Ask = append(g.Ask, ref)
	}
}

// placed adds the folder's Place.
func (x *Index) placed(f vsphere.Folder) vsphere.Folder {
	if f.Ref.IsZero() || f.Ref == x.root {
		return f
	}
	f.Place.Leaf = f.Name
	namespace := x.folders[f.Parent]
	if namespace == nil || f.Parent == x.root {
		return f
	}
	f.Place.Namespace = namespace.folder.Name
	if member := x.folders[namespace.folder.Parent]; member != nil && namespace.folder.Parent != x.root {
		f.Place.Member = member.folder.Name
	}
	return f
}

// at returns the present folder at a path below the root, or the zero Folder.
func (x *Index) at(path vsphere.FolderPath) vsphere.Folder {
	at := x.folders[x.root]
	for _, name := range []string{path.Member, path.Namespace, path.Leaf} {
		if at == nil {
			return vsphere.Folder{}
		}
		at = x.called(at.folder.Ref, name)
	}
	if at == nil {
		return vsphere.Folder{}
	}
	return x.shown(at)
}

// leadsTo reports whether a VM below the root leads to a group by its stamp or folder, so that its changes notify the group.
func (e *vmEntry) leadsTo(q vsphere.Query) bool {
	if e == nil || e.state != Present && e.state != Suspect {
		return false
	}
	id, ok := named(&e.vm)
	return ok && id.Key() == q.ID.Key() || e.vm.Folder == q.Folder
}

// stampedFor reports whether a VM carries a group's stamp from any installation.
func (e *vmEntry) stampedFor(id vsphere.GroupID) bool {
	return e.vm.Stamp != nil && e.vm.Stamp.SameGroup(id)
}

func (g *Group) sort() {
	for _, vms := range [][]vsphere.VM{g.VMs, g.Released, g.Unread, g.Suspects} {
		slices.SortFunc(vms, func(a, b vsphere.VM) int { return compareRefs(a.Ref, b.Ref) })
	}
	for _, refs := range [][]vsphere.Ref{g.Gone, g.Searched, g.Elsewhere, g.Others, g.Ask} {
		sortRefs(refs)
	}
}

// VM returns a VM and its state.
func (x *Index) VM(ref vsphere.Ref) (vsphere.VM, State) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.vms[ref]
	if e == nil {
		return vsphere.VM{Ref: ref}, Unknown
	}
	return clone(e.vm), e.state
}

// Named reports whether a VM with this name, or with a path that ends in it, is below the root folder.
func (x *Index) Named(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.vms {
		if e.state != Present || !strings.HasSuffix(name, e.vm.Name) {
			continue
		}
		path := "/" + e.vm.Name
		if f := x.folders[e.vm.Folder]; f != nil {
			path = x.pathOf(f) + path
		}
		if path == name || strings.HasSuffix(path, "/"+name) {
			return true
		}
	}
	return false
}

// Whole adds to base properties the configuration that was read at the same change version, so that it need not be read again.
func (x *Index) Whole(base vsphere.VM) (vsphere.VM, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.vms[base.Ref]
	if e == nil || base.ChangeVersion == "" || e.unread || e.vm.ChangeVersion != base.ChangeVersion || e.state == Gone ||
		e.vm.Name == "" {
		return vsphere.VM{}, false
	}
	vm := base
	keepConfig(&vm, &e.vm)
	vm.InstanceUUID, vm.IsTemplate = base.InstanceUUID, base.IsTemplate
	return clone(vm), true
}

// Folder returns a present folder.
func (x *Index) Folder(ref vsphere.Ref) (vsphere.Folder, bool) {
	folder, state := x.FolderState(ref)
	return folder, state == Present
}

// FolderState returns the state of a folder. If the folder is not present, it returns the zero Folder.
func (x *Index) FolderState(ref vsphere.Ref) (vsphere.Folder, State) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.folders[ref]
	switch {
	case e == nil:
		return vsphere.Folder{}, Unknown
	case e.state != Present:
		return vsphere.Folder{}, e.state
	}
	return x.shown(e), Present
}

// Owners returns the groups that asked for a folder, unordered.
func (x *Index) Owners(folder vsphere.Ref) []vsphere.GroupKey {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.owners[folder]))
}

// Child returns the present child folder with a name.
func (x *Index) Child(parent vsphere.Ref, name string) (vsphere.Folder, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.called(parent, name)
	if e == nil {
		return vsphere.Folder{}, false
	}
	return x.shown(e), true
}

func clone(vm vsphere.VM) vsphere.VM {
	if vm.Stamp != nil {
		vm.Stamp = new(*vm.Stamp)
	}
	if vm.Released != nil {
		vm.Released = new(*vm.Released)
	}
	return vm
}

func sortDifferences(all []Difference) {
	slices.SortFunc(all, func(a, b Difference) int { return compareRefs(a.Ref, b.Ref) })
}

func sortRefs(refs []vsphere.Ref) { slices.SortFunc(refs, compareRefs) }

func compareRefs(a, b vsphere.Ref) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
}
