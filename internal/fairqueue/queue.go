package fairqueue

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Flow describes items. Several goroutines call its methods. The queue holds its lock only when it calls Tenant.
type Flow[T comparable] interface {
	// Tenant of an item. It never changes.
	Tenant(item T) string
	// Resource that an item uses now, or "". The queue calls it again after each Add.
	Resource(item T) string
	// Exists reports whether there can be work for an item. The queue calls it for items that must wait, and drops those without work.
	Exists(item T) bool
}

// Limits are the places that items can hold.
type Limits struct {
	// Workers is the number of all places.
	Workers int
	// PerTenant and PerResource limit the places of one tenant and of one resource.
	PerTenant, PerResource int
}

// Queue implements priorityqueue.PriorityQueue. For two Adds of a waiting item, the higher priority counts. A priority below 0 counts as 0.
//
// After ShutDown, the queue hands out no items: another replica handles the waiting ones.
type Queue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]

	ready *ready[T]
}

var _ priorityqueue.PriorityQueue[int] = (*Queue[int])(nil)

// New returns a queue with this name in metrics, or without metrics if the name is empty. retry decides when a failed item returns. The queue runs
// goroutines until ShutDown.
func New[T comparable](name string, limits Limits, flow Flow[T], retry workqueue.TypedRateLimiter[T]) *Queue[T] {
	p := newPlaces(limits, flow)
	r := &ready[T]{flow: flow, retry: retry, places: p, Typed: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: name, Queue: p})}
	r.changed.L = &r.mu
	return &Queue[T]{ready: r, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(retry,
		workqueue.TypedRateLimitingQueueConfig[T]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Name: name, Queue: r}),
		})}
}

// AddWithOpts adds items. The priority counts if the items are added without a delay: items that return after a delay have the priority from Prefer.
func (q *Queue[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	for _, item := range items {
		switch {
		case o.RateLimited:
			q.AddRateLimited(item)
		case o.After > 0:
			q.AddAfter(item, o.After)
		case o.Priority != nil:
			q.ready.add(item, *o.Priority)
		default:
			q.Add(item)
		}
	}
}

// GetWithPriority returns the next item and its priority. It blocks until an item is available, or until ShutDown.
func (q *Queue[T]) GetWithPriority() (item T, priority int, shutdown bool) { return q.ready.get() }

// Prefer gives each later Add of an item at least this priority.
func (q *Queue[T]) Prefer(item T, priority int) {
	q.ready.mu.Lock()
	defer q.ready.mu.Unlock()
	q.ready.places.prefer(item, priority)
}

// Drop removes an item without work from the queue, and its priority and failures. An item that was handed out keeps its places until Done.
func (q *Queue[T]) Drop(item T) {
	q.ready.mu.Lock()
	defer q.ready.mu.Unlock()
	q.ready.drop(item)
}

// Waiting returns the number of waiting items of each tenant that has some. Items that wait for the end of a delay, or for the Done of the same item,
// do not count.
func (q *Queue[T]) Waiting() map[string]int {
	q.ready.mu.Lock()
	defer q.ready.mu.Unlock()
	return q.ready.places.waiting()
}

// ready is the part of the queue without delays. It implements workqueue.TypedInterface.
//
// client-go's queue keeps track of added and processed items. It never blocks here: ready takes an item only if places has one.
type ready[T comparable] struct {
	*workqueue.Typed[T]

	flow  Flow[T]
	retry workqueue.TypedRateLimiter[T]

	mu sync.Mutex
	// changed wakes a goroutine that waits in get. It signals items and places, one waiter each; that waiter wakes the next.
	changed sync.Cond
	// places is the storage of Typed. The caller of either holds mu.
	places *places[T]
	ended  bool
}

// Add implements workqueue.TypedInterface.
func (r *ready[T]) Add(item T) { r.add(item, 0) }

func (r *ready[T]) add(item T, priority int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places.ask(item, priority)
	r.Typed.Add(item)
	r.changed.Signal()
}

// Get implements workqueue.TypedInterface.
func (r *ready[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = r.get()
	return item, shutdown
}

func (r *ready[T]) get() (item T, priority int, shutdown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		r.fileArrivals()
		switch next := r.places.next(); {
		case r.ended:
			return item, 0, true
		case next != nil:
			r.places.chosen = next
			item, _ = r.Typed.Get()
			if r.places.hold(next); r.places.next() != nil {
				r.changed.Signal()
			}
			return item, next.priority, false
		}
		r.changed.Wait()
	}
}

// fileArrivals files the items that were added. It unlocks mu for each call of flow.
func (r *ready[T]) fileArrivals() {
	for e := r.places.arrival(); e != nil && !r.ended; e = r.places.arrival() {
		adds := e.adds
		r.mu.Unlock()
		resource := r.flow.Resource(e.item)
		r.mu.Lock()
		if !r.places.file(e, resource, adds) || r.places.free(e.of, resource) {
			continue
		}
		r.mu.Unlock()
		exists := r.flow.Exists(e.item)
		r.mu.Lock()
		if !exists && e.adds == adds && r.places.entries[e.item] == e {
			r.drop(e.item)
		}
	}
}

// Done implements workqueue.TypedInterface. It returns the places of an item.
func (r *ready[T]) Done(item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places.release(item)
	r.Typed.Done(item)
	r.places.settle()
	r.changed.Signal()
}

// drop removes an item. Typed has no such method, so the item is taken and done.
func (r *ready[T]) drop(item T) {
	r.places.forget(item)
	r.retry.Forget(item)
	if r.places.chosen = r.places.entries[item]; r.places.chosen != nil {
		r.Typed.Get()
		r.Typed.Done(item)
		r.places.settle()
	}
}

// ShutDown implements workqueue.TypedInterface.
func (r *ready[T]) ShutDown() {
	r.end()
	r.Typed.ShutDown()
}

// ShutDownWithDrain implements workqueue.TypedInterface. It waits for the items that were handed out.
func (r *ready[T]) ShutDownWithDrain() {
	r.end()
	r.Typed.ShutDownWithDrain()
}

func (r *ready[T]) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.changed.Broadcast()
}
