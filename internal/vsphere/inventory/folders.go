package inventory

import (
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// deepest limits the walk along parents, which reads of different times can have linked into a cycle.
const deepest = 64

// children are the present folders by parent and name. vCenter has at most one folder of a name at a time, but two reads of different times can
// show two.
type children map[vsphere.Ref]map[string]map[vsphere.Ref]struct{}

func (c children) add(f vsphere.Folder) {
	if c[f.Parent] == nil {
		c[f.Parent] = map[string]map[vsphere.Ref]struct{}{}
	}
	add(c[f.Parent], f.Name, f.Ref)
}

func (c children) remove(f vsphere.Folder) {
	remove(c[f.Parent], f.Name, f.Ref)
	if len(c[f.Parent]) == 0 {
		delete(c, f.Parent)
	}
}

// putFolder stores a folder from a read. Overlaps are decided as for a VM: see putVM.
func (x *Index) putFolder(f vsphere.Folder, r reading, touched groups) {
	if f.Ref != x.root {
		f.Path = ""
	}
	e := x.folders[f.Ref]
	if e == nil {
		e = &folderEntry{}
		x.folders[f.Ref] = e
		for vm := range x.byFolder[f.Ref] {
			x.lives(x.vms[vm])
		}
	}
	if x.unlisted(e.state, r) {
		x.doubt(f.Ref)
	}
	same := e.state == Present && e.folder == f
	state := Present
	switch overlaps := r.began < e.since; {
	case overlaps && e.state == Elsewhere:
		state = Suspect
	case overlaps && e.state != Present:
		return
	case overlaps && !same && r.kind == aLookUp:
		x.doubt(f.Ref)
		return
	case overlaps && !same && r.kind == aListing:
		return
	}
	e.since = x.now()
	if same {
		return
	}
	x.unchild(e)
	e.folder, e.state, e.asked, e.version = f, state, x.cfg.Now(), x.nextVersion()
	x.await(f.Ref, state)
	if state == Present {
		x.child(e)
	}
	x.touchTree(f.Ref, touched, deepest)
}

// child enters a present folder under its name. If another folder has the name already, one of the two no longer exists.
func (x *Index) child(e *folderEntry) {
	x.children.add(e.folder)
	rivals := x.children[e.folder.Parent][e.folder.Name]
	if len(rivals) < 2 {
		return
	}
	for ref := range rivals {
		x.doubt(ref)
	}
}

func (x *Index) unchild(e *folderEntry) { x.children.remove(e.folder) }

// called returns the present child folder with a name. If there are two, it returns the one that took the name last.
func (x *Index) called(parent vsphere.Ref, name string) *folderEntry {
	var last *folderEntry
	for ref := range x.children[parent][name] {
		if e := x.folders[ref]; last == nil || e.version > last.version {
			last = e
		}
	}
	return last
}

func (x *Index) setFolder(e *folderEntry, s State, touched groups) {
	if e.state == s {
		return
	}
	e.state, e.asked, e.version = s, x.cfg.Now(), x.nextVersion()
	x.await(e.folder.Ref, s)
	x.unchild(e)
	x.touchFolder(e.folder.Ref, touched)
	if s == Gone || s == Elsewhere {
		x.touchTree(e.folder.Ref, touched, deepest)
	}
}

// dropFolder forgets a folder without a verdict.
func (x *Index) dropFolder(ref vsphere.Ref) {
	if e := x.folders[ref]; e != nil {
		x.unchild(e)
		delete(x.folders, ref)
		delete(x.suspects, ref)
	}
}

// touchTree collects the groups that asked for a folder or one below it, whose paths contain the folder's name and parent.
func (x *Index) touchTree(ref vsphere.Ref, touched groups, depth int) {
	x.touchFolder(ref, touched)
	if depth == 0 {
		return
	}
	for _, sameName := range x.children[ref] {
		for child := range sameName {
			x.touchTree(child, touched, depth-1)
		}
	}
}

// shown returns a folder with its path.
func (x *Index) shown(e *folderEntry) vsphere.Folder {
	f := e.folder
	f.Path = x.pathOf(e)
	return f
}

// pathOf builds the path of a folder from its name and its parents. If the parents lead to the root, the path begins with the root's.
func (x *Index) pathOf(e *folderEntry) string {
	var names []string
	for range deepest {
		if e.folder.Ref == x.root {
			names = append(names, e.folder.Path)
			break
		}
		names = append(names, e.folder.Name)
		if e = x.folders[e.folder.Parent]; e == nil || e.state == Gone || e.state == Elsewhere {
			break
		}
	}
	var path strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		path.WriteString(names[i])
		if i > 0 {
			path.WriteByte('/')
		}
	}
	return path.String()
}
