package budget

import (
	"container/heap"
	"iter"
)

// entry is an element of ordered. It knows its position, so that it can be removed and moved.
type entry[T any] interface {
	// before orders entries. No two are equal.
	before(o T) bool
	// moved reports the entry's new position.
	moved(to int)
}

// ordered has its first entry at 0. It is a heap: a change costs logarithmic time.
type ordered[T entry[T]] []T

func (o *ordered[T]) add(x T)      { heap.Push(o, x) }
func (o *ordered[T]) remove(i int) { heap.Remove(o, i) }

// fix restores the order after an entry changed.
func (o *ordered[T]) fix(i int) { heap.Fix(o, i) }

// Len implements heap.Interface, like the following methods.
func (o ordered[T]) Len() int { return len(o) }

// Less implements heap.Interface.
func (o ordered[T]) Less(i, j int) bool { return o[i].before(o[j]) }

// Swap implements heap.Interface.
func (o ordered[T]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].moved(i)
	o[j].moved(j)
}

// Push implements heap.Interface.
func (o *ordered[T]) Push(x any) {
	e := x.(T)
	e.moved(len(*o))
	*o = append(*o, e)
}

// Pop implements heap.Interface.
func (o *ordered[T]) Pop() any {
	var none T
	last := len(*o) - 1
	x := (*o)[last]
	(*o)[last] = none
	*o = (*o)[:last]
	return x
}

// first returns the first n entries in order. It reads at most twice as many.
func (o ordered[T]) first(n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		next := frontier[T]{of: o}
		if len(o) > 0 {
			next.at = append(next.at, 0)
		}
		for ; n > 0 && len(next.at) > 0; n-- {
			i := next.at[0]
			if !yield(o[i]) {
				return
			}
			heap.Pop(&next)
			for child := 2*i + 1; child <= 2*i+2 && child < len(o); child++ {
				heap.Push(&next, child)
			}
		}
	}
}

// frontier holds the positions of entries whose predecessors have all been returned.
type frontier[T entry[T]] struct {
	of ordered[T]
	at []int
}

// Len implements heap.Interface, like the following methods.
func (f *frontier[T]) Len() int { return len(f.at) }

// Less implements heap.Interface.
func (f *frontier[T]) Less(i, j int) bool { return f.of[f.at[i]].before(f.of[f.at[j]]) }

// Swap implements heap.Interface.
func (f *frontier[T]) Swap(i, j int) { f.at[i], f.at[j] = f.at[j], f.at[i] }

// Push implements heap.Interface.
func (f *frontier[T]) Push(x any) { f.at = append(f.at, x.(int)) }

// Pop implements heap.Interface.
func (f *frontier[T]) Pop() any {
	last := len(f.at) - 1
	x := f.at[last]
	f.at = f.at[:last]
	return x
}
