package effect

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// removeFolder removes the folder of the group, unless it contains something.
type removeFolder struct{}

// Do implements Effect.
func (removeFolder) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	err := p.Server.DestroyFolder(ctx, vsphere.FolderRef(s.Folder.MoRef))
	if err != nil {
		logFailure(ctx, err, "The folder of the group was not removed")
	}
	s.FolderRemoved = &group.Attempt{Err: err}
	return Outcome{}, nil
}
