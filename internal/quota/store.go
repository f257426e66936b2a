package quota

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// Name of the ConfigMap that holds the ledger, in the release namespace.
const Name = "vmgroup-operator-quota"

// A right to create cannot be limited to a name.

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create,namespace=system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;update,resourceNames=vmgroup-operator-quota,namespace=system

// ErrConflict means that the ledger is not the one that was to be replaced any more. It has to be read again.
var ErrConflict = errors.New("the ledger of quotas was changed by another replica")

// Stored is the ledger as it is stored.
type Stored struct {
	State State
	// Version to replace, or "" when there is no ledger.
	Version string
	// Seen orders what is read and watched; it is the version, also of a ledger that was deleted.
	Seen string
	// Err says why the ledger cannot be read although it is there.
	Err error
}

// Store holds the ledger. Every method is one request, never repeated.
type Store interface {
	// Read returns the ledger afresh.
	Read(ctx context.Context) (Stored, error)
	// Write replaces the ledger of a version, "" to make the first. It fails with ErrConflict when that is not the one
	// that is stored, with ErrFull when there is no room; after any other error nobody knows whether it was written.
	Write(ctx context.Context, s State, version string) (newVersion string, err error)
	// Watch tells of every change until ctx ends.
	Watch(ctx context.Context, sink func(Stored))
}

// ConfigMaps stores the ledger in a ConfigMap.
type ConfigMaps struct {
	// Client of the release namespace.
	Client corev1client.ConfigMapInterface
}

// Read implements Store.
func (c ConfigMaps) Read(ctx context.Context) (Stored, error) {
	object, err := c.Client.Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Stored{}, nil
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read ConfigMap %q: %w", Name, err)
	}
	return storedIn(object), nil
}

// Write implements Store.
func (c ConfigMaps) Write(ctx context.Context, s State, version string) (string, error) {
	encoded, err := encode(s)
	if err != nil {
		return "", err
	}
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: Name, ResourceVersion: version, Labels: map[string]string{
			"app.kubernetes.io/name": "vmgroup-operator", "app.kubernetes.io/component": "quota",
		}},
		Data: encoded.data, BinaryData: encoded.binary,
	}
	var written *corev1.ConfigMap
	if version == "" {
		written, err = c.Client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		written, err = c.Client.Update(ctx, object, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		return written.ResourceVersion, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), version != "" && apierrors.IsNotFound(err):
		return "", ErrConflict
	case apierrors.IsRequestEntityTooLargeError(err):
		return "", ErrFull
	default:
		return "", fmt.Errorf("write ConfigMap %q: %w", Name, err)
	}
}

// Watch implements Store.
func (c ConfigMaps) Watch(ctx context.Context, sink func(Stored)) {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, Name).String()
	source := toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (result runtime.Object, err error) {
			o.FieldSelector = only
			return c.Client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return c.Client.Watch(ctx, o)
		},
	}, c.Client)
	tell := func(o any) {
		if object, ok := o.(*corev1.ConfigMap); ok && object.Name == Name {
			sink(storedIn(object))
		}
	}
	_, informer := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.ConfigMap{},
		Handler: toolscache.ResourceEventHandlerFuncs{
			AddFunc:    tell,
			UpdateFunc: func(_, o any) { tell(o) },
			DeleteFunc: func(o any) {
				if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				if object, ok := o.(*corev1.ConfigMap); ok && object.Name == Name {
					sink(Stored{Seen: object.ResourceVersion})
				}
			},
		},
	})
	informer.RunWithContext(ctx)
}

func storedIn(object *corev1.ConfigMap) Stored {
	state, err := decode(content{data: object.Data, binary: object.BinaryData})
	if err != nil {
		err = fmt.Errorf("ConfigMap %q: %w; delete it, and it is made anew from what the groups were admitted", Name, err)
	}
	return Stored{State: state, Version: object.ResourceVersion, Seen: object.ResourceVersion, Err: err}
}
