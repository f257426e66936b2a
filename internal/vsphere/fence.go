package vsphere

import (
	"context"
)

// Fence is asked right before a mutating request leaves the process. It returns an error when the caller may
// not act any more; the request is then not sent and fails with KindFenced.
type Fence func() error

type fenceKey struct{}

// WithFence returns a context whose mutating calls are allowed while fence returns nil.
func WithFence(ctx context.Context, fence Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, fence)
}

// CheckFence asks the fence in ctx. A context without a fence may not mutate anything: a call that forgot
// its fence fails in the first test instead of in the first partition.
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
