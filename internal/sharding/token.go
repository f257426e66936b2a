package sharding

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// Bucket returns the bucket of an object.
func (r *Replica) Bucket(key Key) int {
	return ring.Bucket(key.ClusterUID, key.Namespace, key.Name, r.opts.Buckets)
}

// Holds reports whether this replica can act on an object now. Use it only to filter; see Enter for acting.
func (r *Replica) Holds(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Holds(r.opts.Clock(), r.Bucket(key))
}

// HeldBuckets returns the buckets on whose objects this replica can act now; none while its session is not valid.
func (r *Replica) HeldBuckets() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.HeldBuckets(r.opts.Clock())
}

// Enter implements Gate.
func (r *Replica) Enter(ctx context.Context, key Key) (Token, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	right, ok := r.state.Enter(r.opts.Clock(), r.Bucket(key))
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t := &token{replica: r, right: right, ctx: ctx, cancel: cancel}
	r.tokens[t] = struct{}{}
	return t, true
}

// Raise implements Gate.
func (r *Replica) Raise(epoch Epoch) {
	r.change(func(protocol.Instant) { r.state.Raise(epoch.Generation) })
}

type token struct {
	replica *Replica
	right   *protocol.Token
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

func (t *token) Context() context.Context { return t.ctx }

func (t *token) Epoch() Epoch { return Epoch{t.right.Generation, t.right.Number} }

func (t *token) Check() error {
	r := t.replica
	for {
		r.mu.Lock()
		err := r.state.Check(r.opts.Clock(), t.right)
		changed := r.changed
		r.mu.Unlock()
		if err == nil {
			if err := t.ctx.Err(); err != nil {
				return fmt.Errorf("this replica is stopping: %w", err)
			}
			return nil
		}
		if !errors.Is(err, protocol.ErrShort) {
			r.counted.rejected(err)
			return err
		}
		select {
		case <-changed:
		case <-t.ctx.Done():
			r.counted.rejected(err)
			return fmt.Errorf("%w: %w", err, context.Cause(t.ctx))
		}
	}
}

func (t *token) Exit() {
	t.cancel(nil)
	r := t.replica
	r.mu.Lock()
	delete(r.tokens, t)
	r.state.Exit(t.right)
	due := r.state.Releasable(t.right.Bucket)
	r.mu.Unlock()
	if due {
		r.poke()
	}
}
