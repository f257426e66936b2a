package effect

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// recordOwner writes status, so that the API server has proved that it has this version of the group.
type recordOwner struct{}

// Do implements Effect.
func (recordOwner) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (Outcome, error) {
	return Outcome{}, p.writeStatus(ctx, s, d)
}
