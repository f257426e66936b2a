package vmgroup

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/internal/fairqueue"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

// groupSink delivers groups to the controller's queue.
type groupSink struct {
	queue *fairqueue.Queue[mcreconcile.Request]
}

// Deliver implements fleet.Sink.
func (s groupSink) Deliver(of fleet.Ref, why fleet.Reason) {
	request := requestAt(of)
	if why == fleet.TakenOver {
		addUrgent(s.queue, request)
		return
	}
	s.queue.Add(request)
}

// worker handles the deliveries of the fleet from its own queue, one key at a time.
type worker[K comparable] struct {
	queue workqueue.TypedInterface[K]
	do    func(context.Context, K)
}

func newWorker[K comparable](do func(context.Context, K)) *worker[K] {
	return &worker[K]{workqueue.NewTyped[K](), do}
}

// Deliver implements fleet.Sink.
func (w *worker[K]) Deliver(key K, _ fleet.Reason) { w.queue.Add(key) }

// Start implements manager.Runnable.
func (w *worker[K]) Start(ctx context.Context) error {
	defer context.AfterFunc(ctx, w.queue.ShutDown)()
	for w.next(ctx) {
	}
	return nil
}

// next waits for a key and works on it. It returns false after the end.
func (w *worker[K]) next(ctx context.Context) bool {
	key, ended := w.queue.Get()
	if ended {
		return false
	}
	defer w.queue.Done(key)
	w.do(ctx, key)
	return true
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: each replica acts on groups.
func (*worker[K]) NeedLeaderElection() bool { return false }
