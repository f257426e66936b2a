package inventory

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// ElsewhereFolders returns the folders of this installation's VMs that are known to be outside of the root folder, unordered.
func (x *Index) ElsewhereFolders() []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	var folders []vsphere.Ref
	for _, e := range x.vms {
		if e.state == Elsewhere && x.ours(e) && !e.vm.Folder.IsZero() {
			folders = append(folders, e.vm.Folder)
		}
	}
	return folders
}
