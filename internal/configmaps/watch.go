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

// Watcher receives the events of a watch, one call at a time.
type Watcher interface {
	// Seen receives each existing or changed ConfigMap. Gone receives the last state of each deleted one.
	Seen(*corev1.ConfigMap)
	Gone(*corev1.ConfigMap)
	// Synced is called, concurrently with the others, after Seen received all ConfigMaps of the initial list.
	Synced()
}

// Watch passes the events of the component's ConfigMaps to w until ctx ends.
func (c Component) Watch(ctx context.Context, client corev1client.ConfigMapInterface, w Watcher) {
	only := c.Selector()
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
	go func() {
		if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			w.Synced()
		}
	}()
	informer.RunWithContext(ctx)
}

// dropManagedFields removes the managed fields, which have no reader.
func dropManagedFields(o any) (any, error) {
	if object, ok := o.(*corev1.ConfigMap); ok {
		object.ManagedFields = nil
	}
	return o, nil
}
