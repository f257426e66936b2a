package budget

import (
	"container/heap"
	"iter"
)

// entry is what an ordered can have. It knows where it is, so that it can be removed and moved.
type entry[T any] interface {
	// before orders entries; no two are equal.
	before(o T) bool
	// moved tells the entry where it is.
	moved(to int)
}

// ordered has the first of its entries at 0. It is a heap: a change costs time in proportion to the logarithm of their number.
type ordered[T entry[T]] []T

func (o *ordered[T]) add(x T)      { heap.Push(o, x) }
func (o *ordered[T]) remove(i int) { heap.Remove(o, i) }

// fix puts the entry in its place after what orders it has changed.
func (o *ordered[T]) fix(i int) { heap.Fix(o, i) }

// Len satisfies heap.Interface, as all that follow.
func (o ordered[T]) Len() int { return len(o) }

// Less satisfies heap.Interface.
func (o ordered[T]) Less(i, j int) bool { return o[i].before(o[j]) }

// Swap satisfies heap.Interface.
func (o ordered[T]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].moved(i)
	o[j].moved(j)
}

// Push satisfies heap.Interface.
func (o *ordered[T]) Push(x any) {
	e := x.(T)
	e.moved(len(*o))
	*o = append(*o, e)
}

// Pop satisfies heap.Interface.
func (o *ordered[T]) Pop() any {
	var none T
	last := len(*o) - 1
	x := (*o)[last]
	(*o)[last] = none
	*o = (*o)[:last]
	return x
}

// first returns the first n entries in order. It looks at no more than twice as many.
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

// frontier are entries of which all that come before have been seen, by their places.
type frontier[T entry[T]] struct {
	of ordered[T]
	at []int
}

// Len satisfies heap.Interface, as all that follow.
func (f *frontier[T]) Len() int { return len(f.at) }

// Less satisfies heap.Interface.
func (f *frontier[T]) Less(i, j int) bool { return f.of[f.at[i]].before(f.of[f.at[j]]) }

// Swap satisfies heap.Interface.
func (f *frontier[T]) Swap(i, j int) { f.at[i], f.at[j] = f.at[j], f.at[i] }

// Push satisfies heap.Interface.
func (f *frontier[T]) Push(x any) { f.at = append(f.at, x.(int)) }

// Pop satisfies heap.Interface.
func (f *frontier[T]) Pop() any {
	last := len(f.at) - 1
	x := f.at[last]
	f.at = f.at[:last]
	return x
}
