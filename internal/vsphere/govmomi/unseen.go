package govmomi

import (
	"maps"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// unseen remembers since when objects that the inventory does not show hold names. Such an object can be the wanted VM, from a replica that
// just ended or from a clone with a lost reply. The zero value is ready to use.
type unseen struct {
	mu    sync.Mutex
	since map[vsphere.Ref]time.Time
}

// until returns the end of the wait for a name's holder. The wait begins with the first call for the holder.
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
