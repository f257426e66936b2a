package govmomi

import (
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// lookFirst is how soon a task is looked at for the first time: what fails, fails early.
	lookFirst = 200 * time.Millisecond
	// lookLast is the longest pause between two looks.
	lookLast = 5 * time.Second
	// lookLeast is the shortest pause.
	lookLeast = 50 * time.Millisecond
	// lookLate is the shortest pause once a task takes longer than expected.
	lookLate = 100 * time.Millisecond
	// lookUnsure bounds the trust in an expectation: a task that is much shorter than the last ones is not found
	// at the end of their time.
	lookUnsure = time.Second
	// lookMargin is added to the expected end.
	lookMargin = 50 * time.Millisecond
)

// pause returns how long to wait before a task that has run for age is looked at again. expected is how long tasks
// of its kind took lately, or zero when none has ended yet. A look too early costs a call, and one too late keeps a
// slot from the next task: with pauses in proportion to the age alone, a clone of two seconds was found after three.
func pause(age, expected time.Duration) time.Duration {
	left := expected + lookMargin - age
	wait := age / 4
	switch {
	case age == 0:
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

// durations remembers how long tasks took. The zero value is ready for use.
type durations struct {
	mu   sync.Mutex
	took map[vsphere.OperationKind]time.Duration
}

// learn takes in how long a task took, by the server's clock. Later ones weigh more.
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

// expected returns how long a task will take, or zero when that is not known.
func (d *durations) expected(kind vsphere.OperationKind) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.took[kind]
}
