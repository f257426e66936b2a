package operations

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// waitFor is a set of tasks that must end, and the mark since which they have.
type waitFor struct {
	tasks map[string]time.Time
	ended Mark
}

func newWait(at Mark) *waitFor { return &waitFor{tasks: map[string]time.Time{}, ended: at} }

func (w *waitFor) end(task string, at Mark) {
	if _, ok := w.tasks[task]; ok {
		delete(w.tasks, task)
		w.ended = max(w.ended, at)
	}
}

// over reports whether all tasks have ended and a listing that began later was applied. A nil wait is not over:
// the server's task list has not been read.
func (w *waitFor) over(applied Mark) bool {
	return w != nil && len(w.tasks) == 0 && applied > w.ended
}

// waits returns every set that is not empty. The lock is held.
func (t *Tracker) waits() []*waitFor {
	var out []*waitFor
	if t.inherited != nil && len(t.inherited.tasks) > 0 {
		out = append(out, t.inherited)
	}
	for _, op := range t.ops {
		if op.wait != nil && len(op.wait.tasks) > 0 {
			out = append(out, op.wait)
		}
	}
	return out
}

// Untracked is a queued or running task of our account that no operation of this process is known to have.
type Untracked struct {
	Ref string
	// Entity is the object that the task is about: the template, for a clone.
	Entity vsphere.Ref
	// Clone is true for a task that makes a VM.
	Clone bool
}

// NeedsScan reports whether a lost reply waits for the server's task list, and how long until it may be read.
func (t *Tracker) NeedsScan() (needed bool, in time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, op := range t.ops {
		if op.state != unknown || op.wait != nil {
			continue
		}
		left := max(0, t.Grace-now.Sub(op.lostAt))
		if !needed || left < in {
			needed, in = true, left
		}
	}
	return needed, in
}

// Scanned tells which untracked tasks the server had when its list was read, which began at a mark. Each lost
// reply may be any of them that fits.
func (t *Tracker) Scanned(at Mark, tasks []Untracked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, op := range t.ops {
		if op.state != unknown || op.wait != nil || now.Sub(op.lostAt) < t.Grace {
			continue
		}
		op.wait = newWait(at)
		for _, task := range tasks {
			fits := task.Entity == op.VM
			if op.Kind == vsphere.OpClone {
				fits = task.Clone
			}
			if fits {
				op.wait.tasks[task.Ref] = now
			}
		}
	}
}

// Inherit tells which untracked clones the server had when this process first looked: they were submitted by
// a predecessor, and which VMs they will be is not known.
func (t *Tracker) Inherit(at Mark, tasks []Untracked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inherited = newWait(at)
	now := t.now()
	for _, task := range tasks {
		if task.Clone {
			t.inherited.tasks[task.Ref] = now
		}
	}
}

// Inherited returns how many clones of a predecessor still run, and whether their effect is in the inventory.
// It is not settled before Inherit was called.
func (t *Tracker) Inherited(applied Mark) (runningClones int, settled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inherited == nil {
		return 0, false
	}
	return len(t.inherited.tasks), t.inherited.over(applied)
}

// WantsListing reports whether something waits for a full listing that begins later than the one applied last.
func (t *Tracker) WantsListing(applied Mark) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	waits := func(w *waitFor) bool { return w != nil && len(w.tasks) == 0 && applied <= w.ended }
	if waits(t.inherited) {
		return true
	}
	for _, op := range t.ops {
		if waits(op.wait) || (op.state == settling && applied <= op.ended) {
			return true
		}
	}
	return false
}
