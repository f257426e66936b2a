package webhook

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// atOnce is how many requests of a caller are processed at a time. The others wait after their bodies were read. Otherwise, a hundred requests of a few
// milliseconds of CPU each would delay every request of others.
const atOnce = 8

// turns makes callers wait for their own requests, not for those of others. The zero value is ready. It is safe for concurrent use, and keeps a little
// memory for each caller ever seen.
type turns struct {
	mu   sync.Mutex
	each map[string]*semaphore.Weighted
}

// begin waits for the turn of a request, first come first served. The caller ends the turn with rest. The error is that of ctx.
func (t *turns) begin(ctx context.Context, caller string) (*turn, error) {
	own := &turn{of: t.of(caller)}
	return own, own.resume(ctx)
}

// turn is the turn of one request. One goroutine uses it at a time.
type turn struct {
	of   *semaphore.Weighted
	held bool
}

// rest releases the turn, if the request has it: a waiting request uses no CPU.
func (t *turn) rest() {
	if t.held {
		t.of.Release(1)
		t.held = false
	}
}

// resume waits for a turn, if the request has none. On an error, which is that of ctx, the request has no turn.
func (t *turn) resume(ctx context.Context) error {
	if t.held {
		return nil
	}
	if err := t.of.Acquire(ctx, 1); err != nil {
		return err
	}
	t.held = true
	return nil
}

func (t *turns) of(caller string) *semaphore.Weighted {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.each == nil {
		t.each = map[string]*semaphore.Weighted{}
	}
	if t.each[caller] == nil {
		t.each[caller] = semaphore.NewWeighted(atOnce)
	}
	return t.each[caller]
}
