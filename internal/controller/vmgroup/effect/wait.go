package effect

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// wait does nothing.
type wait struct{}

// Do implements Effect.
func (wait) Do(context.Context, *Pass, *group.Snapshot, group.Decision) (Outcome, error) {
	return Outcome{Ends: true}, nil
}
