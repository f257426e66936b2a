package member

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// newInformer makes the informers of a member's cache. controller-runtime passes metadata watches through
// watch.Filter, whose goroutine stays for ever when an event (such as the error of the connection that is
// being closed) is on its way while the informer stops. Members come and go and kubeconfigs rotate, so these
// would pile up; draining a stopped watch lets them end.
func newInformer(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	if list, ok := source.(*toolscache.ListWatch); ok && list.WatchFuncWithContext != nil {
		inner := list.WatchFuncWithContext
		list.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := inner(ctx, options)
			if err != nil {
				return nil, err
			}
			return drainingWatch{w}, nil
		}
	}
	return toolscache.NewSharedIndexInformer(source, object, resync, indexers)
}

// drainingWatch takes what is left in a watch once it is stopped. A stopped watch closes its channel.
type drainingWatch struct {
	watch.Interface
}

// Stop may be called more than once.
func (w drainingWatch) Stop() {
	w.Interface.Stop()
	go func() {
		for range w.ResultChan() {
		}
	}()
}
