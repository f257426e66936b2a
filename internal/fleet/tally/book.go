package tally

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Cell is the key by which groups are counted.
type Cell struct{ Member, VCenter string }

// Group is one counted group.
type Group struct {
	Cell
	// Key identifies the group.
	Key             string
	Namespace, Name string
	Shape           *Shape
}

// Total has the sums of the groups of one cell.
type Total struct {
	Groups  [states]int
	Reasons map[string]int
	VMs     [vmStates]int
	Desired int
	Held    [holds]int
	// Rollouts by state; RolloutNone is not counted.
	Rollouts [rollouts]int
	// NotReady are the groups with a time in Shape.Since, the oldest first.
	NotReady []NotReady
}

// NotReady is a group that is not ready.
type NotReady struct {
	Cell
	Namespace, Name, Reason string
	Since                   time.Time

	key string
}

func compare(a, b NotReady) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Member, b.Member), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.key, b.key))
}

// Book counts groups by bucket and cell. It is safe for concurrent use. A reader locks one bucket at a time, while it
// copies the sums of that bucket.
type Book struct {
	mu      sync.RWMutex
	buckets map[int]*bucket
	changes atomic.Uint64
}

type bucket struct {
	mu    sync.Mutex
	cells map[Cell]*Total
}

// NewBook returns a Book without groups.
func NewBook() *Book { return &Book{buckets: map[int]*bucket{}} }

// Changes returns a number that increases with each change of a sum.
func (b *Book) Changes() uint64 { return b.changes.Load() }

// Add counts a group that was not counted.
func (b *Book) Add(in int, g Group) { b.of(in).change(b, g, 1) }

// Remove stops counting a group. The group must be as it was added.
func (b *Book) Remove(in int, g Group) { b.of(in).change(b, g, -1) }

func (b *Book) of(number int) *bucket {
	b.mu.RLock()
	found := b.buckets[number]
	b.mu.RUnlock()
	if found != nil {
		return found
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buckets[number] == nil {
		b.buckets[number] = &bucket{cells: map[Cell]*Total{}}
	}
	return b.buckets[number]
}

func (k *bucket) change(b *Book, g Group, by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.cells[g.Cell]
	if t == nil {
		t = &Total{Reasons: map[string]int{}}
		k.cells[g.Cell] = t
	}
	t.count(g.Shape, by)
	if !g.Shape.Since.IsZero() {
		t.list(g, by)
	}
	if t.empty() {
		delete(k.cells, g.Cell)
	}
	b.changes.Add(1)
}

func (t *Total) count(s *Shape, by int) {
	t.Groups[s.State] += by
	if s.Reason != "" {
		if t.Reasons[s.Reason] += by; t.Reasons[s.Reason] == 0 {
			delete(t.Reasons, s.Reason)
		}
	}
	for i, n := range s.VMs {
		t.VMs[i] += by * int(n)
	}
	t.Desired += by * int(s.Desired)
	for i, held := range s.Held {
		if held {
			t.Held[i] += by
		}
	}
	if s.Rollout != RolloutNone {
		t.Rollouts[s.Rollout] += by
	}
}

// list keeps NotReady sorted, so that readers do not scan all groups.
func (t *Total) list(g Group, by int) {
	is := NotReady{Cell: g.Cell, Namespace: g.Namespace, Name: g.Name, Reason: g.Shape.Reason, Since: g.Shape.Since, key: g.Key}
	at, found := slices.BinarySearchFunc(t.NotReady, is, compare)
	switch {
	case by > 0:
		t.NotReady = slices.Insert(t.NotReady, at, is)
	case found:
		t.NotReady = slices.Delete(t.NotReady, at, at+1)
	}
}

func (t *Total) empty() bool { return t.Groups == [states]int{} }

// add adds the counts of another total, without its list.
func (t *Total) add(o *Total) {
	for i, n := range o.Groups {
		t.Groups[i] += n
	}
	for reason, n := range o.Reasons {
		t.Reasons[reason] += n
	}
	for i, n := range o.VMs {
		t.VMs[i] += n
	}
	t.Desired += o.Desired
	for i, n := range o.Held {
		t.Held[i] += n
	}
	for i, n := range o.Rollouts {
		t.Rollouts[i] += n
	}
}

// numbers returns the buckets that have or had groups.
func (b *Book) numbers() []int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.buckets))
}

// read calls visit for each cell of a bucket, with its lock held.
func (b *Book) read(number int, visit func(Cell, *Total)) {
	k := b.of(number)
	k.mu.Lock()
	defer k.mu.Unlock()
	for cell, t := range k.cells {
		visit(cell, t)
	}
}
