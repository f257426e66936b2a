package vmgroup

import (
	"slices"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"
)

func newTestQueue(u *urgency[string]) workqueue.TypedInterface[string] {
	return workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: newUrgentFirst(u)})
}

func TestGroupsTakenOverGoBeforeThoseThatWait(t *testing.T) {
	u := newUrgency[string]()
	q := newTestQueue(u)
	for _, item := range []string{"a", "b", "c"} {
		q.Add(item)
	}
	u.raise("c")
	q.Add("c") // waits already
	u.raise("d")
	q.Add("d") // is new
	var got []string
	for q.Len() > 0 {
		item, _ := q.Get()
		got = append(got, item)
		q.Done(item)
	}
	if want := []string{"c", "d", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

// Whatever is added, however urgent, comes out once, and equally urgent items in their order.
func TestNoItemIsLostOrServedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUrgency[string]()
		q := newTestQueue(u)
		waiting := map[string]bool{}
		for _, step := range rapid.SliceOf(rapid.IntRange(0, 29)).Draw(t, "steps") {
			item := string(rune('a' + step%5))
			switch step / 10 {
			case 0:
				q.Add(item)
				waiting[item] = true
			case 1:
				u.raise(item)
				q.Add(item)
				waiting[item] = true
			case 2:
				if q.Len() == 0 {
					continue
				}
				got, _ := q.Get()
				if !waiting[got] {
					t.Fatalf("served %s, which was not added", got)
				}
				delete(waiting, got)
				q.Done(got)
			}
			if q.Len() != len(waiting) {
				t.Fatalf("length %d, want %d", q.Len(), len(waiting))
			}
		}
		for range len(waiting) {
			got, _ := q.Get()
			if !waiting[got] {
				t.Fatalf("served %s, which was not added", got)
			}
			delete(waiting, got)
			q.Done(got)
		}
	})
}
