package massdeletion

import (
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// slots is the number of parts of the window: removed VMs count for the window and at most one part more. So the memory stays bounded if an API server makes up groups that
// appear and disappear.
const slots = 60

// window has the VMs that left recently.
type window struct {
	parts []part
}

// part has the VMs that left in one part of the window.
type part struct {
	since time.Time
	vms   int
	// group is the only group whose VMs left, unless several is true.
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

// mostLeft keeps the sum of made-up VMs of an API server from overflowing.
const mostLeft = 1 << 24

// expire removes parts before the window. A part from the future was written before the clock was set back, and its age is unknown.
func (w *window) expire(now time.Time, length time.Duration) {
	width := max(length/slots, time.Millisecond)
	w.parts = slices.DeleteFunc(w.parts, func(p part) bool { return now.Sub(p.since) >= length+width })
	for i := range w.parts {
		if p := &w.parts[i]; p.since.After(now) {
			p.since = now.Truncate(width)
		}
	}
}

// left returns the number of VMs that left, and whether any of them belonged to another group.
func (w *window) left(group vsphere.GroupKey) (vms int, others bool) {
	for _, p := range w.parts {
		vms, others = vms+p.vms, others || p.several || p.group != group
	}
	return vms, others
}
