package remote

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNotLeading refuses a write to a member by a replica that does not lead. It is no failure: the leader does it.
var ErrNotLeading = errors.New("this is left to the replica that leads")

// Client is what a member is identified, claimed and equipped with.
type Client interface {
	client.Reader
	Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error
	Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error
	Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error
	Apply(ctx context.Context, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error
	Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error
}

// LeaderClient asks before each write whether it is this replica's. All replicas so take the same way through the
// bootstrap, and those that do not lead stop where the leader has not been yet.
type LeaderClient struct {
	client.Reader
	Writer client.Writer
	// MayWrite must be cheap; see [New].
	MayWrite func() bool
}

// Create returns [ErrNotLeading] on a replica that does not lead.
func (c LeaderClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if !c.MayWrite() {
		return ErrNotLeading
	}
	return c.Writer.Create(ctx, object, opts...)
}

// Update returns [ErrNotLeading] on a replica that does not lead.
func (c LeaderClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	if !c.MayWrite() {
		return ErrNotLeading
	}
	return c.Writer.Update(ctx, object, opts...)
}

// Patch returns [ErrNotLeading] on a replica that does not lead.
func (c LeaderClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if !c.MayWrite() {
		return ErrNotLeading
	}
	return c.Writer.Patch(ctx, object, patch, opts...)
}

// Apply returns [ErrNotLeading] on a replica that does not lead.
func (c LeaderClient) Apply(ctx context.Context, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if !c.MayWrite() {
		return ErrNotLeading
	}
	return c.Writer.Apply(ctx, object, opts...)
}

// Delete returns [ErrNotLeading] on a replica that does not lead.
func (c LeaderClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	if !c.MayWrite() {
		return ErrNotLeading
	}
	return c.Writer.Delete(ctx, object, opts...)
}
