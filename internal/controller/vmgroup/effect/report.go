package effect

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// report writes status and ends the pass.
type report struct{}

// Do implements Effect.
func (report) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (Outcome, error) {
	return Outcome{Ends: true}, p.writeStatus(ctx, s, d)
}
