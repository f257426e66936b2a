package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// apiTrip is the travel time of a request to the member's API server, and of its answer.
const apiTrip = 2 * time.Millisecond

var errNotInThisWorld = errors.New("the group controller does not ask for this")

// groupClient is a replica's client of the member. It reads groups from the replica's cache, and its writes take time. A sent request is
// executed even if the replica cancels it. It has only the methods that the group controller uses.
type groupClient struct {
	client.Client
	member  *Member
	cache   *groupCache
	replica *Replica
}

// Get implements client.Client.
func (c *groupClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *v1alpha1.VmGroup:
		return c.cache.get(key, into)
	case *metav1.PartialObjectMetadata:
		into.Name = key.Name // a namespace without labels
		return nil
	}
	return fmt.Errorf("read %T: %w", into, errNotInThisWorld)
}

// List implements client.Client.
func (c *groupClient) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch into := into.(type) {
	case *v1alpha1.VmGroupList:
		into.Items = c.cache.list()
		return nil
	case *metav1.PartialObjectMetadataList:
		return nil // no namespace has an annotation
	}
	return fmt.Errorf("list %T: %w", into, errNotInThisWorld)
}

// Patch implements client.Client.
func (c *groupClient) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.send(ctx, object, patch, false)
}

// Status implements client.Client.
func (c *groupClient) Status() client.SubResourceWriter { return statusWriter{client: c} }

type statusWriter struct {
	client.SubResourceWriter
	client *groupClient
}

// Patch implements client.SubResourceWriter.
func (s statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.send(ctx, object, patch, true)
}

type answer struct {
	group *v1alpha1.VmGroup
	err   error
}

// send sends a request that changes a group.
func (c *groupClient) send(ctx context.Context, object client.Object, patch client.Patch, status bool) error {
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
	sent, answers := group.DeepCopy(), make(chan answer, 1)
	time.AfterFunc(apiTrip, func() {
		stored, err := c.member.patch(sent, data, status)
		time.AfterFunc(apiTrip, func() { answers <- answer{stored, err} })
	})
	var got answer
	select {
	case got = <-answers:
	case <-ctx.Done():
		got.err = ctx.Err()
	case <-c.replica.killed:
		got.err = errClosed
	}
	if turn := c.replica.Process.Turn(); turn != nil {
		return turn
	}
	if got.err == nil {
		got.group.DeepCopyInto(group)
	}
	return got.err
}

// hubReader is the hub's cache, with one VCenter and no policies.
type hubReader struct{ client.Client }

// Get implements client.Reader.
func (hubReader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if _, ok := into.(*v1alpha1.VCenter); !ok || key.Name != vcenterName {
		return fmt.Errorf("read %T %s: %w", into, key.Name, errNotInThisWorld)
	}
	into.SetName(key.Name)
	return nil
}

// List implements client.Reader.
func (hubReader) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if _, ok := into.(*v1alpha1.VmGroupPolicyList); !ok {
		return fmt.Errorf("list %T: %w", into, errNotInThisWorld)
	}
	return nil
}
