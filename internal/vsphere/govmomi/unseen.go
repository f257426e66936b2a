package govmomi

import (
	"maps"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// unseen remembers since when names are taken by things that the inventory does not show. Such a thing may be the VM that is to be made: of
// a replica that died a moment ago, or of a clone whose reply was lost. The zero value is ready to use.
type unseen struct {
	mu    sync.Mutex
	since map[vsphere.Ref]time.Time
}

// until is when patience with a holder of a name ends. It begins when the holder is asked about first.
func (u *unseen) until(holder vsphere.Ref, now time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since == nil {
		u.since = map[vsphere.Ref]time.Time{}
	}
	maps.DeleteFunc(u.since, func(_ vsphere.Ref, since time.Time) bool { return now.Sub(since) > 2*operations.Patience })
	since, known := u.since[holder]
	if !known {
		since = now
		u.since[holder] = since
	}
	return since.Add(operations.Patience)
}
