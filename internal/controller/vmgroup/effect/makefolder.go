package effect

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// makeFolder creates the folder of the group unless it exists. Status gets its reference with the intent to clone.
type makeFolder struct{}

// Do implements Effect.
func (makeFolder) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	folder, err := p.Server.EnsureFolder(ctx, s.FolderPath())
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to create the folder of the group")
	} else {
		s.Folder = &v1alpha1.FolderStatus{Path: folder.Path, MoRef: folder.Ref.Value}
	}
	s.FolderMade = &group.Attempt{Err: err}
	return Outcome{}, nil
}
