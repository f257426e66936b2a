package vmgroup

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// claimed is what this process has claimed for a group of the VMs of the group with this UID, or nil. A member that is restored may have that one again: then
// it is looked at anew.
func (r *Reconciler) claimed(by object, from string) *group.AdoptionAnswer {
	c := r.memory.of(by).adoption
	if c == nil || c.From != from || !c.Until.IsZero() && !r.Now().Before(c.Until) {
		return nil
	}
	if _, exists := r.Fleet.Group(vsphere.KeyOf(by.key.Member(), from)); exists {
		return nil
	}
	return new(c.Answer)
}

// seeAdoption reads which VMs another group has left, whose VMs this one shall take over.
func seeAdoption(s *group.Snapshot, inventory vsphere.Inventory) {
	a := s.Adoption
	if a == nil || a.Malformed(s.Group) != "" {
		return
	}
	q := vsphere.Query{ID: s.ID, Templates: templatesOf(s)}
	if q.ID.Group = a.From; a.Answer != nil {
		q.Known = a.Answer.Listed
	}
	a.Seen, a.Folders = inventory.Observe(q), map[vsphere.Ref]vsphere.FolderPath{}
	for _, vm := range slices.Concat(a.Seen.VMs, a.Seen.Released) {
		if _, known := a.Folders[vm.Folder]; !known {
			a.Folders[vm.Folder] = inventory.Observe(vsphere.Query{ID: q.ID, Folder: vm.Folder}).Folder.Place
		}
	}
}
