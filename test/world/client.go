package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// apiTrip is how long a request to the member's API server travels, and its answer.
const apiTrip = 2 * time.Millisecond

var errNotInThisWorld = errors.New("the group controller does not ask for this")

// groupClient is a replica's client of the member: it reads groups from the replica's cache, and its writes travel. What has been sent is
// carried out, even if the replica gives it up meanwhile.
type groupClient struct {
	client.Client
	member  *Member
	cache   *groupCache
	replica *Replica
}

// Get implements client.Client.
func (c *groupClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if group, ok := into.(*v1alpha1.VmGroup); ok {
		return c.cache.get(key, group)
	}
	return c.member.api.Get(ctx, key, into, opts...)
}

// List implements client.Client.
func (c *groupClient) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, ok := into.(*v1alpha1.VmGroupList)
	if !ok {
		return fmt.Errorf("list %T: %w", into, errNotInThisWorld)
	}
	list.Items = c.cache.list()
	return nil
}

// Patch implements client.Client.
func (c *groupClient) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.send(ctx, object, patch, func(copied client.Object, patch client.Patch) error {
		return c.member.api.Patch(context.Background(), copied, patch)
	})
}

// Status implements client.Client.
func (c *groupClient) Status() client.SubResourceWriter { return statusWriter{groupClient: c} }

type statusWriter struct {
	client.SubResourceWriter
	*groupClient
}

// Patch implements client.SubResourceWriter.
func (s statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.send(ctx, object, patch, func(copied client.Object, patch client.Patch) error {
		return s.member.api.Status().Patch(context.Background(), copied, patch)
	})
}

// send makes a request that changes a group.
func (c *groupClient) send(ctx context.Context, object client.Object, patch client.Patch, do func(client.Object, client.Patch) error) error {
	group, ok := object.(*v1alpha1.VmGroup)
	if !ok {
		return fmt.Errorf("patch %T: %w", object, errNotInThisWorld)
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	if err := c.replica.Process.Turn(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	patch = client.RawPatch(patch.Type(), data)
	copied, answer := group.DeepCopy(), make(chan error, 1)
	time.AfterFunc(apiTrip, func() {
		key := types.NamespacedName{Namespace: group.Namespace, Name: copied.Name}
		err := c.member.write(key, func() error { return do(copied, patch) })
		time.AfterFunc(apiTrip, func() { answer <- err })
	})
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.replica.killed:
		err = errClosed
	}
	if turn := c.replica.Process.Turn(); turn != nil {
		return turn
	}
	if err == nil {
		copied.DeepCopyInto(group)
	}
	return err
}
