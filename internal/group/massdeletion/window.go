package massdeletion

import (
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// slots is into how many parts the window is divided: what left counts for the window and at most one part more. So it takes no more
// memory when an API server makes up groups that come and go.
const slots = 60

// window is what has left a while ago.
type window struct {
	parts []part
}

// part is what left in a part of the window.
type part struct {
	since time.Time
	vms   int
	// group is the only one whose VMs left, if not several were.
	group   vsphere.GroupKey
	several bool
}

func (w *window) add(group vsphere.GroupKey, vms int, now time.Time, length time.Duration) {
	if vms <= 0 {
		return
	}
	since := now.Truncate(max(length/slots, time.Millisecond))
	for i := range w.parts {
		if p := &w.parts[i]; p.since.Equal(since) {
			p.vms, p.several = min(p.vms+vms, mostLeft), p.several || p.group != group
			return
		}
	}
	w.expire(now, length)
	w.parts = append(w.parts, part{since: since, vms: min(vms, mostLeft), group: group})
}

// mostLeft keeps the sum of what an API server makes up from running over.
const mostLeft = 1 << 24

// expire forgets what left longer ago. What is from the future was written before the clock was set back: how long ago that is nobody knows.
func (w *window) expire(now time.Time, length time.Duration) {
	width := max(length/slots, time.Millisecond)
	w.parts = slices.DeleteFunc(w.parts, func(p part) bool { return now.Sub(p.since) >= length+width })
	for i := range w.parts {
		if p := &w.parts[i]; p.since.After(now) {
			p.since = now.Truncate(width)
		}
	}
}

// left is how many VMs have left, and whether any of another group has.
func (w *window) left(group vsphere.GroupKey) (vms int, others bool) {
	for _, p := range w.parts {
		vms, others = vms+p.vms, others || p.several || p.group != group
	}
	return vms, others
}
