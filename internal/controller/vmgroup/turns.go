package vmgroup

import "k8s.io/client-go/util/workqueue"

// turns is a workqueue's storage that lets members take turns, each with a queue of its own. However many items of a member wait, and however
// urgent they are, an item of another one waits for one of them at most. An item that finds no place costs next to nothing, so nothing is lost by that.
type turns[T comparable] struct {
	memberOf func(T) string
	newQueue func() workqueue.Queue[T]
	// members are those that have items; next are the same in the order of their turns.
	members map[string]workqueue.Queue[T]
	next    workqueue.Queue[string]
	items   int
}

func newTurns[T comparable](memberOf func(T) string, newQueue func() workqueue.Queue[T]) *turns[T] {
	return &turns[T]{memberOf: memberOf, newQueue: newQueue, members: map[string]workqueue.Queue[T]{}, next: workqueue.DefaultQueue[string]()}
}

// Touch hands on that an item was added that waits already.
func (q *turns[T]) Touch(item T) {
	if of := q.members[q.memberOf(item)]; of != nil {
		of.Touch(item)
	}
}

// Push adds a new item.
func (q *turns[T]) Push(item T) {
	member := q.memberOf(item)
	of := q.members[member]
	if of == nil {
		of = q.newQueue()
		q.members[member] = of
		q.next.Push(member)
	}
	of.Push(item)
	q.items++
}

// Len is the number of items.
func (q *turns[T]) Len() int { return q.items }

// Pop returns the next item of the member whose turn it is.
func (q *turns[T]) Pop() T {
	member := q.next.Pop()
	of := q.members[member]
	item := of.Pop()
	q.items--
	if of.Len() == 0 {
		delete(q.members, member)
	} else {
		q.next.Push(member)
	}
	return item
}
