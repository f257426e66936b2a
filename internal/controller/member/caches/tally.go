package caches

import (
	"fmt"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// tally counts the bytes of memory that the cached objects of a member need, and refuses objects beyond the limit. It also counts objects that
// are listed but not yet cached, because a list can be endless.
type tally struct {
	guard *remote.Guard

	mu    sync.Mutex
	sizes map[tallied]int64
	total int64
}

// tallied is one object.
type tallied struct{ kind, key string }

func newTally(guard *remote.Guard) *tally { return &tally{guard: guard, sizes: map[tallied]int64{}} }

// put counts an object that is or will be cached, in place of an earlier version. The error is a [*remote.LimitError].
func (t *tally) put(kind string, object any) error {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return fmt.Errorf("find the name of what is cached: %w", err)
	}
	size := untrusted.MemorySize(object) + int64(len(key))
	t.mu.Lock()
	defer t.mu.Unlock()
	of := tallied{kind, key}
	t.total += size - t.sizes[of]
	t.sizes[of] = size
	if t.total > t.guard.Limits.Kept {
		return t.guard.Refuse(t.tooMuch())
	}
	return nil
}

// drop removes an object that is no longer cached.
func (t *tally) drop(kind string, object any) {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	of := tallied{kind, key}
	t.total -= t.sizes[of]
	delete(t.sizes, of)
}

// tooMuch names the kind that needs the most memory. The caller holds the lock.
func (t *tally) tooMuch() error {
	var largest tallied
	counts := map[string]int{}
	for of, size := range t.sizes {
		counts[of.kind]++
		if before := t.sizes[largest]; size > before || size == before && of.key < largest.key {
			largest = of
		}
	}
	return &remote.LimitError{
		What: fmt.Sprintf("%d VmGroups and %d Namespaces need more memory than one member may; the largest is %s %q with %d KiB",
			counts["VmGroup"], counts["Namespace"], largest.kind, untrusted.Text(largest.key, 130), t.sizes[largest]>>10),
		Limit: fmt.Sprintf("%d MiB", t.guard.Limits.Kept>>20),
		Remedy: "Delete what is not needed there; if all of it is, raise --member-memory of the manager (manager.memberMemoryMiB of the chart), " +
			"and its memory limit by three times as much.",
	}
}

// follow keeps the tally of one informer.
func (t *tally) follow(kind string) toolscache.ResourceEventHandler {
	put := func(object any) { _ = t.put(kind, object) } // a refusal ends the incarnation
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) { t.drop(kind, object) },
	}
}
