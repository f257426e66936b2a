package vmgroup

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/codeconnect/vmgroup-operator/internal/planted"
)

// statusInterval is the shortest time between two status writes of one group that only report. Writes that
// something depends on (the intent to clone or destroy) are never delayed. It bounds the API writes of a big
// scale-up by its duration instead of by its number of VMs.
const statusInterval = time.Second

// writes remembers the operator's own last write of each group. The informer's cache may still hold an older
// object right after a write; deciding on that would forget an intent that was just stored. The store is in
// memory only: after a restart the first list is newer than any write before.
type writes struct {
	mu   sync.Mutex
	last map[types.UID]write
}

type write struct {
	resourceVersion string
	status          time.Time
}

func newWrites() *writes { return &writes{last: map[types.UID]write{}} }

// stale reports whether an object with this resourceVersion is older than the last write. Versions that
// cannot be compared do not come from an API server that Kubernetes' conformance knows; they are taken as new,
// and a write based on them fails with a conflict if they were not.
func (w *writes) stale(uid types.UID, resourceVersion string) bool {
	w.mu.Lock()
	last := w.last[uid].resourceVersion
	w.mu.Unlock()
	if last == "" || planted.Is(planted.StaleCache) {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(resourceVersion, last)
	return err == nil && order < 0
}

// wrote records a write that gave the object resourceVersion; at is zero unless status was written.
func (w *writes) wrote(uid types.UID, resourceVersion string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := w.last[uid]
	entry.resourceVersion = resourceVersion
	if !at.IsZero() {
		entry.status = at
	}
	w.last[uid] = entry
}

// wait returns how long a report may wait before it is written.
func (w *writes) wait(uid types.UID, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry, ok := w.last[uid]
	if !ok || entry.status.IsZero() {
		return 0
	}
	return max(0, entry.status.Add(statusInterval).Sub(now))
}

func (w *writes) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, uid)
}
