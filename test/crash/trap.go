//go:build unix

package crash

import "sync"

// trap counts the calls of the manager and detects the point.
type trap struct {
	mu    sync.Mutex
	armed bool
	point *Point
	count map[Site]int
	trace []Site
	fired bool
}

// arm starts to count from zero, for a point or, with nil, only to learn.
func (t *trap) arm(point *Point) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed, t.point, t.count, t.trace, t.fired = true, point, map[Site]int{}, nil, false
}

// disarm stops counting. It returns the calls that arrived since arm, and whether the point was reached.
func (t *trap) disarm() (trace []Site, fired bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = false
	return t.trace, t.fired
}

// isArmed reports whether a call that is still held can trigger a fault.
func (t *trap) isArmed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.armed
}

// arrive counts a call. It returns the point if this call is the one.
func (t *trap) arrive(site Site) (Point, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.armed {
		return Point{}, false
	}
	t.count[site]++
	t.trace = append(t.trace, site)
	if t.point == nil || t.fired || t.point.Site != site || t.point.N != t.count[site] {
		return Point{}, false
	}
	t.fired = true
	return *t.point, true
}
