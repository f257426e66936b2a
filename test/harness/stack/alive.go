//go:build unix

package stack

import (
	"context"
	"fmt"
)

// WhileManagersRun returns a context that also ends when a running manager ends, with the end of its log as the cause. So callers that wait
// for a ready stack stop waiting if the operator cannot start. Call stop when the stack is ready.
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
