package effect

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// endAdoption lowers the charge of the other group to what is left of it, and removes its folder if that is empty. Both can be
// repeated, and nothing depends on them: the ledger itself corrects the charge after some minutes.
func endAdoption(ctx context.Context, quotas Quotas, p *Pass, s *group.Snapshot) {
	a := s.Adoption
	if a.Legacy {
		return // the folder belongs to the original operator
	}
	id := s.ID
	id.Group = a.From
	where := s.FolderPath()
	where.Leaf = group.FolderName(a.Answer.Group, s.AdoptsFrom())
	seen := p.Server.Observe(vsphere.Query{ID: id, Path: where})
	if quotas != nil && seen.Complete && !seen.Undetermined() && len(seen.InFlight) == 0 {
		quotas.Leave(quota.Key{Member: s.Member, UID: s.AdoptsFrom()}, group.Remains(id, &seen))
	}
	if folder := seen.Folder; !folder.Ref.IsZero() && folder.Ref != s.FolderRef() {
		if err := p.Server.DestroyFolder(ctx, folder.Ref); err != nil {
			log.FromContext(ctx).Error(err, "Failed to remove the folder of the former group, whose VMs this group has adopted", "folder", folder.Path)
		}
	}
}
