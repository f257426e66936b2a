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

// byName is a client that lists an object by its name if it may not get it. The operator's account can list VCenters and Secrets, and can get none.
type byName struct{ client.Client }

// Get implements client.Reader. If the list is refused as well, the error is that of the get.
func (b byName) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := b.Client.Get(ctx, key, object, options...)
	if !apierrors.IsForbidden(err) {
		return err
	}
	kind, kindErr := b.GroupVersionKindFor(object)
	if kindErr != nil {
		return kindErr
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if b.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}) != nil {
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
