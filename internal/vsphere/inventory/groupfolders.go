package inventory

import (
	"cmp"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// EmptyGroupFolders returns the present folders three below the root, where those of groups are, in which nothing is, or may be: a VM or folder
// without a verdict counts as there, and a VM whose configuration is unread holds its own folder. A folder does not show which installation made it: so it returns
// those in which this index has seen a VM of this installation. known is false while the inventory is not complete, and while VMs of another installation are below
// the root: then nothing is known of any folder.
func (x *Index) EmptyGroupFolders() (empty []vsphere.GroupFolder, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if complete, _ := x.complete(); !complete {
		return nil, false
	}
	used := map[vsphere.Ref]bool{}
	for _, e := range x.vms {
		if e.state == Present && !e.unread && e.vm.Stamp != nil && !x.ours(e) {
			return nil, false
		}
		if e.state != Gone {
			used[e.vm.Folder] = true
		}
	}
	for _, e := range x.folders {
		if e.state != Gone {
			used[e.folder.Parent] = true
		}
	}
	for ref, e := range x.folders {
		namespace := x.folders[e.folder.Parent]
		if e.state != Present || !e.ours || used[ref] || namespace == nil || namespace.state != Present {
			continue
		}
		if member := x.folders[namespace.folder.Parent]; member != nil && member.state == Present && member.folder.Parent == x.root {
			path := vsphere.FolderPath{Member: member.folder.Name, Namespace: namespace.folder.Name, Leaf: e.folder.Name}
			empty = append(empty, vsphere.GroupFolder{Ref: ref, FolderPath: path, InventoryPath: x.pathOf(e)})
		}
	}
	slices.SortFunc(empty, func(a, b vsphere.GroupFolder) int { return cmp.Compare(a.Ref.Value, b.Ref.Value) })
	return empty, true
}
