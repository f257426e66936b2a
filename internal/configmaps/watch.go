// Package configmaps watches what the operator keeps on the hub: ConfigMaps of the release namespace, whose label says which part of the operator they are of.
package configmaps

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// ComponentLabel says which part of the operator a ConfigMap is of.
const ComponentLabel = "app.kubernetes.io/component"

// Watcher takes what a watch tells, one call at a time.
type Watcher struct {
	// Seen is told of each ConfigMap that is there or has changed, Gone of each that is there no more, as it was last.
	Seen, Gone func(*corev1.ConfigMap)
	// Synced is called, beside the others, once all that are there at the beginning were told. It may be nil.
	Synced func()
}

// Watch tells w of the ConfigMaps of a component until ctx ends.
func Watch(ctx context.Context, client corev1client.ConfigMapInterface, component string, w Watcher) {
	only := ComponentLabel + "=" + component
	source := toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = only
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = only
			return client.Watch(ctx, o)
		},
	}, client)
	tell := func(o any, to func(*corev1.ConfigMap)) {
		if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		if object, ok := o.(*corev1.ConfigMap); ok {
			to(object)
		}
	}
	_, informer := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.ConfigMap{}, Transform: dropManagedFields,
		Handler: toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { tell(o, w.Seen) },
			UpdateFunc: func(_, o any) { tell(o, w.Seen) },
			DeleteFunc: func(o any) { tell(o, w.Gone) },
		},
	})
	if w.Synced != nil {
		go func() {
			if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
				w.Synced()
			}
		}()
	}
	informer.RunWithContext(ctx)
}

// dropManagedFields leaves out what nobody reads.
func dropManagedFields(o any) (any, error) {
	if object, ok := o.(*corev1.ConfigMap); ok {
		object.ManagedFields = nil
	}
	return o, nil
}
