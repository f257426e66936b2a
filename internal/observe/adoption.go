package observe

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// SeeAdoption implements effect.Observer.
func (*Observer) SeeAdoption(s *group.Snapshot, inventory vsphere.Inventory) {
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
