package inventory

import (
	"cmp"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// EmptyGroupFolders returns the present folders at the depth of group folders that certainly are empty: a VM or folder without a verdict counts as content, and so does
// a VM whose configuration is unread. A folder does not show which installation created it, so the result has only folders in which this index saw a VM of this
// installation. While the inventory is incomplete or VMs of another installation are below the root, known is false.
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
