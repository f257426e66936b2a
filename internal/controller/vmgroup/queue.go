package vmgroup

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// urgency names the items that go before all others in a queue. After a takeover these are the groups that nobody has
// looked after for a while; what is in the queue already has been seen by this replica. Groups that lack VMs go before those that an update
// or nothing is to be done for.
type urgency[T comparable] struct {
	mu    sync.Mutex
	items map[T]struct{}
	// lasting are items that are urgent until they are said not to be.
	lasting map[T]struct{}
	// out are the urgent items that were taken from the queue.
	out map[T]struct{}
}

func newUrgency[T comparable]() *urgency[T] {
	return &urgency[T]{items: map[T]struct{}{}, lasting: map[T]struct{}{}, out: map[T]struct{}{}}
}

// raise makes the next Add of an item an urgent one.
func (u *urgency[T]) raise(item T) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.items[item] = struct{}{}
}

// keep says whether every Add of an item is an urgent one from now on.
func (u *urgency[T]) keep(item T, urgent bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if urgent {
		u.lasting[item] = struct{}{}
	} else {
		delete(u.lasting, item)
	}
}

func (u *urgency[T]) take(item T) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, once := u.items[item]
	_, lasting := u.lasting[item]
	delete(u.items, item)
	return once || lasting
}

// forget drops what is known of an item.
func (u *urgency[T]) forget(item T) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.items, item)
	delete(u.lasting, item)
	delete(u.out, item)
}

func (u *urgency[T]) pop(item T) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.out[item] = struct{}{}
}

// popped reports, once, whether an item was taken from the queue as an urgent one.
func (u *urgency[T]) popped(item T) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, urgent := u.out[item]
	delete(u.out, item)
	return urgent
}

// urgentFirst is a workqueue's storage: first in, first out, in two classes.
type urgentFirst[T comparable] struct {
	urgency *urgency[T]
	first   workqueue.Queue[T]
	rest    workqueue.Queue[T]
	// overtaken counts an item's entries in rest that are void, since the item is or was in first.
	overtaken map[T]int
	void      int
	// waiting are the items whose valid entry is in rest.
	waiting map[T]struct{}
}

func newUrgentFirst[T comparable](u *urgency[T]) *urgentFirst[T] {
	return &urgentFirst[T]{
		urgency: u, first: workqueue.DefaultQueue[T](), rest: workqueue.DefaultQueue[T](),
		overtaken: map[T]int{}, waiting: map[T]struct{}{},
	}
}

// Touch moves an item forward that has become urgent while it waited.
func (q *urgentFirst[T]) Touch(item T) {
	if _, waits := q.waiting[item]; waits && q.urgency.take(item) {
		delete(q.waiting, item)
		q.overtaken[item]++
		q.void++
		q.first.Push(item)
	}
}

// Push adds a new item.
func (q *urgentFirst[T]) Push(item T) {
	if q.urgency.take(item) {
		q.first.Push(item)
		return
	}
	q.waiting[item] = struct{}{}
	q.rest.Push(item)
}

// Len is the number of items.
func (q *urgentFirst[T]) Len() int { return q.first.Len() + q.rest.Len() - q.void }

// Pop returns the next item.
func (q *urgentFirst[T]) Pop() T {
	if q.first.Len() > 0 {
		item := q.first.Pop()
		q.urgency.pop(item)
		return item
	}
	for {
		item := q.rest.Pop()
		if q.overtaken[item] == 0 {
			delete(q.waiting, item)
			return item
		}
		q.void--
		if q.overtaken[item]--; q.overtaken[item] == 0 {
			delete(q.overtaken, item)
		}
	}
}
