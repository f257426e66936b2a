package budget

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// manual is a clock that advances only when the test advances it.
type manual struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

func (m *manual) clock() Clock {
	m.now = time.Unix(1_000_000, 0)
	return Clock{Now: m.Now, AfterFunc: m.afterFunc}
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) afterFunc(d time.Duration, f func()) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &timer{at: m.now.Add(d), f: f}
	m.timers = append(m.timers, t)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.timers = slices.DeleteFunc(m.timers, func(o *timer) bool { return o == t })
	}
}

// advance moves the clock and fires due timers in order.
func (m *manual) advance(d time.Duration) {
	m.mu.Lock()
	end := m.now.Add(d)
	for {
		var due *timer
		for _, t := range m.timers {
			if !t.at.After(end) && (due == nil || t.at.Before(due.at)) {
				due = t
			}
		}
		if due == nil {
			break
		}
		m.timers = slices.DeleteFunc(m.timers, func(o *timer) bool { return o == due })
		m.now = due.at
		m.mu.Unlock()
		due.f()
		m.mu.Lock()
	}
	m.now = end
	m.mu.Unlock()
}

func (m *manual) armed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.timers)
}

// rig is a budget under test and its notifications.
type rig struct {
	*Budget
	clock    *manual
	notified []string
	t        *testing.T
}

func newRig(t *testing.T, limits Limits) *rig {
	r := &rig{clock: &manual{}, t: t}
	r.Budget = NewWithClock(limits, r, r.clock.clock(), time.Second)
	return r
}

// GroupChanged implements vsphere.GroupNotifier.
func (r *rig) GroupChanged(group vsphere.GroupKey) { r.notified = append(r.notified, string(group)) }

// notify is a vsphere.GroupNotifier.
type notify func(group string)

func (n notify) GroupChanged(group vsphere.GroupKey) { n(string(group)) }

// unheard is a GroupNotifier that does nothing.
var unheard = notify(func(string) {})

// start acquires slots, starts a task on each, and returns the functions that end them.
func (r *rig) start(group, host string, n int) []func(bool) {
	r.t.Helper()
	grant := r.Acquire(group, host, n)
	defer grant.Release()
	if grant.Granted() != n {
		r.t.Fatalf("%s got %d of %d", group, grant.Granted(), n)
	}
	ends := make([]func(bool), 0, n)
	for range n {
		ends = append(ends, r.Start(group, host))
	}
	return ends
}

// asks acquires slots, returns them at once, and checks their number.
func (r *rig) asks(group, host string, n, want int) {
	r.t.Helper()
	grant := r.Acquire(group, host, n)
	if got := grant.Granted(); got != want {
		r.t.Errorf("%s asked for %d and got %d, want %d", group, n, got, want)
	}
	grant.Release()
}

// told checks the notifications since the last call.
func (r *rig) told(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.notified, want) {
		r.t.Errorf("notified %v, want %v", r.notified, want)
	}
	r.notified = nil
}
