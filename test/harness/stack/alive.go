//go:build unix

package stack

import (
	"context"
	"fmt"
)

// WhileManagersRun returns a context that ends, too, when one of the managers that run now ends, with its last words as the cause: what
// waits for a stack to be ready need not wait for an operator that cannot start. Call stop when it is ready.
func (s *Stack) WhileManagersRun(ctx context.Context) (_ context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := func(p *Process) {
		select {
		case <-p.Done():
			cancel(fmt.Errorf("the %s ended: %s", p.name, p.Tail(20)))
		case <-ctx.Done():
		}
	}
	if s.Manager != nil {
		go watch(s.Manager)
	}
	for _, r := range s.Replicas {
		go watch(r.Process)
	}
	return ctx, func() { cancel(nil) }
}
