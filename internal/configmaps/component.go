// Package configmaps is for parts of the operator that store data in ConfigMaps of the release namespace on the hub.
package configmaps

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ErrConflict means that another writer was first: the stored ConfigMap is not the version to replace or delete.
var ErrConflict = errors.New("the ConfigMap was changed by another writer")

// Component is a part of the operator. It is a label of its ConfigMaps.
type Component string

const componentLabel = "app.kubernetes.io/component"

// Selector selects the ConfigMaps of the component.
func (c Component) Selector() string { return componentLabel + "=" + string(c) }

// New returns a ConfigMap of the component without storing it.
func (c Component) New(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"app.kubernetes.io/name": "vmgroup-operator", componentLabel: string(c)},
	}}
}

// Put creates the ConfigMap if object has no resourceVersion, and otherwise replaces that version. If the ConfigMap already exists, has another version, or
// does not exist, it fails with [ErrConflict].
func Put(ctx context.Context, client corev1client.ConfigMapInterface, object *corev1.ConfigMap) (written *corev1.ConfigMap, err error) {
	isNew := object.ResourceVersion == ""
	if isNew {
		written, err = client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		written, err = client.Update(ctx, object, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || !isNew && apierrors.IsNotFound(err) {
		return nil, ErrConflict
	}
	return written, err
}

// Delete deletes a ConfigMap. If the ConfigMap does not match expected, it fails with [ErrConflict]. A missing ConfigMap is no error.
func Delete(ctx context.Context, client corev1client.ConfigMapInterface, name string, expected metav1.Preconditions) error {
	err := client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &expected})
	switch {
	case apierrors.IsConflict(err):
		return ErrConflict
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// Keep runs watch, and calls collect once in each interval, until ctx ends.
func Keep(ctx context.Context, watch, collect func(context.Context), interval time.Duration) {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { watch(ctx) })
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			collect(ctx)
		}
	}
}
