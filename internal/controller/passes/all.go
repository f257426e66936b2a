// Package passes requests passes of a controller over all objects of its kind, for example after a change of the leader.
package passes

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// All takes requests for passes over all objects. The zero value drops them.
type All struct{ asked chan struct{} }

// NewAll returns an All that keeps one request until a source takes it.
func NewAll() All { return All{make(chan struct{}, 1)} }

// Ask requests passes. It does not block.
func (a All) Ask() {
	select {
	case a.asked <- struct{}{}:
	default: // a request is pending already
	}
}

// Of returns a source that enqueues every object of the reader. list determines their kind.
func (a All) Of(reader client.Reader, list client.ObjectList) source.Source {
	return a.source(func(ctx context.Context, q queue) {
		if err := reader.List(ctx, list); err != nil {
			log.FromContext(ctx).Error(err, "Failed to list all objects; what a new leader has to write waits for their next passes")
			return
		}
		_ = meta.EachListItem(list, func(object runtime.Object) error {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object.(client.Object))})
			return nil
		})
	})
}

// As returns a source for a controller that handles all objects in one request.
func (a All) As(request reconcile.Request) source.Source {
	return a.source(func(_ context.Context, q queue) { q.Add(request) })
}

func (a All) source(enqueue func(context.Context, queue)) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-a.asked:
					enqueue(ctx, q)
				}
			}
		}()
		return nil
	})
}
