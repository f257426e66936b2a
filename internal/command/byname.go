package command

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// byName is a client that reads an object by a list of its name: the operator's account can list VCenters and Secrets, and must not get them. An account
// that cannot list gets the object.
type byName struct{ client.Client }

// Get implements client.Reader.
func (b byName) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	kind, err := b.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	switch err := b.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}); {
	case apierrors.IsForbidden(err):
		return b.Client.Get(ctx, key, object, options...)
	case err != nil:
		return err
	}
	for i := range list.Items {
		if list.Items[i].GetName() != key.Name {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, object); err != nil {
			return fmt.Errorf("read %s %s: %w", kind.Kind, key.Name, err)
		}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
}
