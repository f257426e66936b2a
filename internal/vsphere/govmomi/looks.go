package govmomi

import (
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// lookFirst is the delay before the first read of a task that is not expected to end soon: most failures are early.
	lookFirst = 200 * time.Millisecond
	// lookLast is the longest pause between two reads.
	lookLast = 5 * time.Second
	// lookLeast is the shortest pause.
	lookLeast = 50 * time.Millisecond
	// lookLate is the shortest pause after a task exceeds its expected duration.
	lookLate = 100 * time.Millisecond
	// lookTogether is the shortest pause between two reads of objects, so that one call reads those that change together.
	lookTogether = 2 * gather
	// lookUnsure limits the trust in an expectation, so that a task that is much shorter than the last ones is found
	// before their usual end.
	lookUnsure = time.Second
	// lookMargin is added to the expected end, and lookMarginWatched with a watch. The watch shows the VM of most tasks earlier, and then one call reads both.
	lookMargin        = 50 * time.Millisecond
	lookMarginWatched = lookMargin + 2*gather
)

// pause returns the time until the next read of a task that has run for age. expected is the recent duration of tasks
// of its kind, or zero if none has ended yet. It is read at margin after its expected end. An early read costs a call, and a late one delays the next task's slot.
// With pauses in proportion to the age alone, a clone of two seconds was found after three.
func pause(age, expected, margin time.Duration) time.Duration {
	left := expected + margin - age
	wait := age / 4
	switch {
	case age == 0 && (expected == 0 || left > lookUnsure):
		wait = lookFirst
	case expected == 0:
		wait = max(wait, lookFirst)
	case left > 0:
		wait = min(left, max(age, lookUnsure))
	default:
		wait = max(-left, expected/20, lookLate)
	}
	return min(max(wait, lookLeast), lookLast)
}

// durations remembers the durations of tasks. The zero value is ready for use.
type durations struct {
	mu   sync.Mutex
	took map[vsphere.OperationKind]time.Duration
}

// learn records the duration of a task by the server's clock. Later ones weigh more.
func (d *durations) learn(kind vsphere.OperationKind, took time.Duration) {
	if took <= 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.took == nil {
		d.took = map[vsphere.OperationKind]time.Duration{}
	}
	if known, ok := d.took[kind]; ok {
		took = (3*known + took) / 4
	}
	d.took[kind] = took
}

// expected returns the expected duration of a task, or zero if it is unknown.
func (d *durations) expected(kind vsphere.OperationKind) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.took[kind]
}
