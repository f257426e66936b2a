package remote

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Reader checks all objects that it reads: see [Named]. A refusal ends the incarnation.
func (g *Guard) Reader(r client.Reader) client.Reader { return intakeReader{r, g} }

// Client checks the objects that a client of a member's cluster reads from the API server, and the answers to its writes.
// Objects of a cache were checked on their way into the cache.
func (g *Guard) Client(c client.Client) client.Client {
	return intakeClient{c, cachedReader{c, intakeReader{c, g}}, g}
}

// uncached is Client for a client without a cache.
func (g *Guard) uncached(c client.Client) client.Client {
	return intakeClient{c, intakeReader{c, g}, g}
}

// take refuses an object that Kubernetes does not allow.
func (g *Guard) take(kind string, object any) error {
	if err := Named(kind, object); err != nil {
		return g.Refuse(err)
	}
	return nil
}

// answered is the outcome of a call that was answered with an object.
func (g *Guard) answered(object runtime.Object, err error) error {
	if err != nil {
		return err
	}
	return g.take(KindOf(object), object)
}

type intakeReader struct {
	client.Reader
	guard *Guard
}

func (r intakeReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	return r.guard.answered(object, r.Reader.Get(ctx, key, object, opts...))
}

func (r intakeReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind := KindOf(list)
	if err := r.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	if err := Listed(kind, list); err != nil {
		return r.guard.Refuse(err)
	}
	return meta.EachListItem(list, func(object runtime.Object) error { return r.guard.take(kind, object) })
}

// cachedReader reads VmGroups and metadata from a cache, and all else from the API server.
type cachedReader struct{ cached, live client.Reader }

func (r cachedReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	switch object.(type) {
	case *v1alpha1.VmGroup, *metav1.PartialObjectMetadata:
		return r.cached.Get(ctx, key, object, opts...)
	}
	return r.live.Get(ctx, key, object, opts...)
}

func (r cachedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch list.(type) {
	case *v1alpha1.VmGroupList, *metav1.PartialObjectMetadataList:
		return r.cached.List(ctx, list, opts...)
	}
	return r.live.List(ctx, list, opts...)
}

type intakeClient struct {
	client.Client
	reader client.Reader
	guard  *Guard
}

func (c intakeClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, opts...)
}

func (c intakeClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, list, opts...)
}

func (c intakeClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	return c.guard.answered(object, c.Client.Create(ctx, object, opts...))
}

func (c intakeClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	return c.guard.answered(object, c.Client.Update(ctx, object, opts...))
}

func (c intakeClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.guard.answered(object, c.Client.Patch(ctx, object, patch, opts...))
}

func (c intakeClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c intakeClient) SubResource(name string) client.SubResourceClient {
	return intakeSubResource{c.Client.SubResource(name), c.guard}
}

type intakeSubResource struct {
	client.SubResourceClient
	guard *Guard
}

func (s intakeSubResource) Create(ctx context.Context, object, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return s.guard.answered(sub, s.SubResourceClient.Create(ctx, object, sub, opts...))
}

func (s intakeSubResource) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.guard.answered(object, s.SubResourceClient.Update(ctx, object, opts...))
}

func (s intakeSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.guard.answered(object, s.SubResourceClient.Patch(ctx, object, patch, opts...))
}
