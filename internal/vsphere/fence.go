package vsphere

import (
	"context"
)

// Fence is called right before a mutating request leaves the process. If the caller has lost the right to act, it
// returns an error. The request is then not sent and fails with KindFenced.
type Fence func() error

type fenceKey struct{}

// WithFence returns a context that permits mutating calls while fence returns nil.
func WithFence(ctx context.Context, fence Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, fence)
}

// CheckFence calls the fence in ctx. A context without a fence must not mutate anything. Thus a call without its fence
// fails in the first test instead of in the first partition.
func CheckFence(ctx context.Context) error {
	fence, ok := ctx.Value(fenceKey{}).(Fence)
	if !ok || fence == nil {
		return &Error{Kind: KindFenced, Op: "check the fence", Err: errNoFence}
	}
	if err := fence(); err != nil {
		return &Error{Kind: KindFenced, Op: "check the fence", Err: err}
	}
	return nil
}

type fenceError string

func (e fenceError) Error() string { return string(e) }

const errNoFence = fenceError("the context carries no fence")
