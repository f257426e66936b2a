package govmomi

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// looked are the objects that were looked up lately: deleted VMs, and objects outside of the root folder. The zero value is ready for use. It has no lock.
type looked struct {
	at    map[vsphere.Ref]time.Time
	swept time.Time
}

// note records a look-up. It forgets earlier ones in a new map, because a map never returns the memory of deleted entries.
func (l *looked) note(ref vsphere.Ref, now time.Time) {
	if l.at == nil || now.Sub(l.swept) >= lookAgainAfter {
		young := map[vsphere.Ref]time.Time{}
		for ref, at := range l.at {
			if now.Sub(at) < lookAgainAfter {
				young[ref] = at
			}
		}
		l.at, l.swept = young, now
	}
	l.at[ref] = now
}

// lately reports whether an object was looked up within lookAgainAfter.
func (l *looked) lately(ref vsphere.Ref, now time.Time) bool {
	at, ok := l.at[ref]
	return ok && now.Sub(at) < lookAgainAfter
}
