package webhook

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// atOnce is how many requests of a caller are worked on at a time. The others wait, and have been read by then: a hundred that each take a few
// milliseconds of the processor would otherwise be a queue before every request of others.
const atOnce = 8

// turns has callers wait for their own requests, and not for those of others. The zero value is ready. It is safe for concurrent use, and keeps a little for
// each caller that ever came.
type turns struct {
	mu   sync.Mutex
	each map[string]*semaphore.Weighted
}

// begin waits until it is a request's turn, first come first served. Whoever got it ends it by rest. The error is that of ctx.
func (t *turns) begin(ctx context.Context, caller string) (*turn, error) {
	own := &turn{of: t.of(caller)}
	return own, own.resume(ctx)
}

// turn is that of one request. It is for one goroutine at a time.
type turn struct {
	of   *semaphore.Weighted
	held bool
}

// rest gives the turn to another request, if the request has it: a request that only waits for news works on nothing.
func (t *turn) rest() {
	if t.held {
		t.of.Release(1)
		t.held = false
	}
}

// resume waits for a turn, if the request has none. The error is that of ctx, and it has none then.
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
