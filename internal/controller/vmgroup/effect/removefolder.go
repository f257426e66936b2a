package effect

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// removeFolder removes the folder of the group, unless it contains something.
type removeFolder struct{}

// Do implements Effect.
func (removeFolder) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	err := p.Server.DestroyFolder(ctx, vsphere.FolderRef(s.Folder.MoRef))
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to remove the folder of the group")
	}
	s.FolderRemoved = &group.Attempt{Err: err}
	return Outcome{}, nil
}
