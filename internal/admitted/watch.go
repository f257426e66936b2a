package admitted

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// watch keeps the pages in step with the hub until ctx ends.
func (r *Records) watch(ctx context.Context) {
	only := labelKey + "=" + component
	client := r.opts.Client
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
	_, informer := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.ConfigMap{}, Transform: dropManagedFields,
		Handler: toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { r.seen(o) },
			UpdateFunc: func(_, o any) { r.seen(o) },
			DeleteFunc: func(o any) {
				if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				if object, ok := o.(*corev1.ConfigMap); ok {
					r.tell(r.remove(object.Name, object.ResourceVersion))
				}
			},
		},
	})
	go func() {
		if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			r.mu.Lock()
			r.synced = true
			r.mu.Unlock()
		}
	}()
	informer.RunWithContext(ctx)
}

func (r *Records) seen(o any) {
	object, ok := o.(*corev1.ConfigMap)
	if !ok {
		return
	}
	if page := pageOf(object); page != nil {
		r.tell(page.member, r.take(page))
	}
}

func (r *Records) tell(member string, names []string) {
	for _, name := range names {
		r.opts.Notify(Key{member, types.UID(name)}) // of one with an odd UID nobody knows that name, and a later pass sees the change
	}
}

// dropManagedFields leaves out what nobody reads.
func dropManagedFields(o any) (any, error) {
	if object, ok := o.(*corev1.ConfigMap); ok {
		object.ManagedFields = nil
	}
	return o, nil
}
