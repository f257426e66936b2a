package sharding

import (
	"context"
	"fmt"
)

// Sole is the Gate of a replica that acts alone: whoever holds the manager's leader election owns everything.
// A token ends with the manager, which ends when the election is lost.
type Sole struct{}

// Enter always succeeds.
func (Sole) Enter(ctx context.Context, _ Key) (Token, bool) {
	ctx, cancel := context.WithCancel(ctx)
	return soleToken{ctx: ctx, cancel: cancel}, true
}

type soleToken struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func (t soleToken) Context() context.Context { return t.ctx }
func (t soleToken) Epoch() Epoch             { return Epoch{} }
func (t soleToken) Exit()                    { t.cancel() }

func (t soleToken) Check() error {
	if err := t.ctx.Err(); err != nil {
		return fmt.Errorf("this replica is stopping: %w", err)
	}
	return nil
}
