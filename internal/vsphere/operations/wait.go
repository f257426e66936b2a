package operations

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Patience is the maximum wait for a clone that can be ours, from when this process first saw it. After that, the name in the group's folder, which
// is the lock, and the stamps decide: a hanging clone must not block groups forever.
const Patience = 10 * time.Minute

// Untracked is a queued or running task that can be ours and that belongs to no known operation of this process.
type Untracked struct {
	Ref string
	// Entity is the object of the task: the template for a clone. It is zero if vCenter does not report it.
	Entity vsphere.Ref
	// Clone is true for a task that creates a VM.
	Clone bool
	// Own is true if the account of this process certainly started the task.
	Own bool
	// Queued is the time when vCenter accepted the task, by vCenter's clock, or zero if vCenter does not report it.
	Queued time.Time
	// Since is the time when this process first saw the task.
	Since time.Time
}

// vague reports whether the task's object does not identify its VM: a clone names its template, and a placement by DRS its datacenter.
func (u Untracked) vague() bool { return u.Clone || u.Entity.Type == vsphere.TypeDatacenter }

// From reports whether a task can be a clone of one of these templates. Without templates it returns true.
func (u Untracked) From(templates map[vsphere.Ref]bool) bool {
	return u.Entity.IsZero() || len(templates) == 0 || templates[u.Entity]
}

// After reports whether a task can have been submitted after a moment of a clock other than vCenter's.
func (u Untracked) After(moment time.Time) bool {
	return u.Queued.IsZero() || u.Queued.After(moment.Add(-clockSlack))
}

// clockSlack is the maximum accepted difference between two clocks.
const clockSlack = 10 * time.Minute

// awaited is a task that must end. A listing that began after the mark of its observed end shows its effect.
type awaited struct {
	Untracked
	over  bool
	ended Mark
}

// hangs reports whether the task has run for so long that the wait for it is over.
func (a *awaited) hangs(now time.Time) bool {
	return !a.over && a.vague() && now.Sub(a.Since) >= Patience
}

// holds reports whether the task's effect can be missing from the applied listing.
func (a *awaited) holds(applied Mark, now time.Time) bool {
	if a.over {
		return applied <= a.ended
	}
	return !a.hangs(now)
}

// waitFor is a set of tasks that must end, as read at a mark.
type waitFor struct {
	tasks map[string]*awaited
	at    Mark
}

func newWait(at Mark) *waitFor { return &waitFor{tasks: map[string]*awaited{}, at: at} }

func (w *waitFor) add(task Untracked, now time.Time) {
	if task.Since.IsZero() {
		task.Since = now
	}
	w.tasks[task.Ref] = &awaited{Untracked: task}
}

func (w *waitFor) end(task string, at Mark) {
	if a := w.tasks[task]; a != nil && !a.over {
		a.over, a.ended = true, at
	}
}

// over reports whether no task is awaited any more and a later listing was applied. A nil wait is not over, because the server's task list has not
// been read.
func (w *waitFor) over(applied Mark, now time.Time) bool {
	if w == nil || applied <= w.at {
		return false
	}
	for _, a := range w.tasks {
		if a.holds(applied, now) {
			return false
		}
	}
	return true
}

// awaits returns an awaited task, or "".
func (w *waitFor) awaits() string {
	if w == nil {
		return ""
	}
	for _, ref := range slices.Sorted(maps.Keys(w.tasks)) {
		if !w.tasks[ref].over {
			return ref
		}
	}
	return ""
}

// runs reports whether a task can still run.
func (w *waitFor) runs(task string, now time.Time) bool {
	a := w.tasks[task]
	return a != nil && !a.over && !a.hangs(now)
}

// wantsListing reports whether only a listing that begins later than the last applied one is missing.
func (w *waitFor) wantsListing(applied Mark) bool {
	if w == nil {
		return false
	}
	last := w.at
	for _, a := range w.tasks {
		if a.over {
			last = max(last, a.ended)
		}
	}
	return applied <= last
}

// waits returns every set. The caller holds the lock.
func (t *Tracker) waits() []*waitFor {
	var out []*waitFor
	if t.inherited != nil {
		out = append(out, t.inherited)
	}
	for op := range t.all {
		if op.wait != nil {
			out = append(out, op.wait)
		}
	}
	return out
}

// NeedsScan reports whether a lost reply needs the server's task list, and the time until it can be read.
func (t *Tracker) NeedsScan() (needed bool, in time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for op := range t.all {
		if op.state != unknown || op.wait != nil {
			continue
		}
		left := max(0, t.Grace-now.Sub(op.lostAt))
		if op.asksForSlot() {
			left = max(0, slotGrace-now.Sub(op.lostAt))
		}
		if !needed || left < in {
			needed, in = true, left
		}
	}
	return needed, in
}

// asksForSlot reports whether it is still unchecked if an operation with a lost reply needs its slot.
func (op *operation) asksForSlot() bool { return op.done != nil && !op.slotAsked }

// Scanned passes the untracked tasks in the server's list, whose read began at a mark. Each lost reply can be any task that fits.
func (t *Tracker) Scanned(at Mark, tasks []Untracked) {
	var done []func(bool)
	t.mu.Lock()
	now := t.now()
	busy := map[string]bool{}
	for op := range t.all {
		busy[op.slotTask] = true
	}
	for op := range t.all {
		if op.state != unknown || op.wait != nil {
			continue
		}
		if op.asksForSlot() && now.Sub(op.lostAt) >= slotGrace {
			op.slotAsked = true
			// Several lost replies together need at most as many slots as there are such tasks, whichever belongs to which.
			mine := slices.IndexFunc(tasks, func(task Untracked) bool { return task.Own && !busy[task.Ref] && op.fits(task) })
			if mine >= 0 {
				op.slotTask = tasks[mine].Ref
				busy[op.slotTask] = true
			} else {
				done, op.done = append(done, op.done), nil
			}
		}
		if now.Sub(op.lostAt) < t.Grace {
			continue
		}
		op.wait = newWait(at)
		for _, task := range tasks {
			if op.fits(task) {
				op.wait.add(task, now)
			}
		}
		op.followSlot()
	}
	t.mu.Unlock()
	for _, f := range done {
		f(true)
	}
}

// followSlot moves the slot of a power-on from the ended task that placed the VM to the task of the VM itself.
func (op *operation) followSlot() {
	if op.Datacenter.IsZero() || op.slotTask == "" || op.wait.tasks[op.slotTask] != nil {
		return
	}
	for ref, a := range op.wait.tasks {
		if a.Entity == op.VM {
			op.slotTask = ref
		}
	}
}

// fits reports whether a task can be the operation's. A clone of another template, or one that vCenter accepted before the operation, does not fit.
func (op *operation) fits(task Untracked) bool {
	switch {
	case op.Kind == vsphere.OpClone:
	case task.Entity == op.VM:
		return true
	case op.Kind == vsphere.OpMove:
		return task.Entity == op.Folder // the task belongs to the folder
	default:
		return !op.Datacenter.IsZero() && task.Entity == op.Datacenter && task.After(op.since)
	}
	var template map[vsphere.Ref]bool
	if !op.Template.IsZero() {
		template = map[vsphere.Ref]bool{op.Template: true}
	}
	return task.Clone && task.From(template) && task.After(op.since)
}

// sparesSlot reports whether an operation with a lost reply no longer needs its slot, because the task that needed it has ended. Foreign tasks that
// could be the lost one do not justify keeping the slot from other clones.
func (op *operation) sparesSlot(now time.Time) bool {
	return op.done != nil && op.wait != nil && !op.wait.runs(op.slotTask, now)
}

// Inherit passes the untracked clones that the server had at this process's first read. A predecessor submitted them, and their future VMs are
// unknown.
func (t *Tracker) Inherit(at Mark, tasks []Untracked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inherited = newWait(at)
	now := t.now()
	for _, task := range tasks {
		if task.Clone {
			t.inherited.add(task, now)
		}
	}
}

// Inheritance contains the clones that a predecessor can have left running.
type Inheritance struct {
	// Known is false until Inherit was called and a later listing was applied.
	Known bool
	// Running are the clones to wait for. Ended are those that have ended but whose effect can be missing from the inventory. Hanging are those whose
	// wait is over. All are sorted by reference.
	Running, Ended, Hanging []Untracked
}

// Inherited returns the clones of a predecessor that still matter.
func (t *Tracker) Inherited(applied Mark) Inheritance {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inherited == nil {
		return Inheritance{}
	}
	in, now := Inheritance{Known: applied > t.inherited.at}, t.now()
	for _, ref := range slices.SortedFunc(maps.Keys(t.inherited.tasks), cmp.Compare[string]) {
		switch a := t.inherited.tasks[ref]; {
		case a.hangs(now):
			in.Hanging = append(in.Hanging, a.Untracked)
		case a.over && a.holds(applied, now):
			in.Ended = append(in.Ended, a.Untracked)
		case !a.over:
			in.Running = append(in.Running, a.Untracked)
		}
	}
	return in
}

// WantsListing reports whether a full listing is needed that begins later than the last applied one.
func (t *Tracker) WantsListing(applied Mark) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inherited.wantsListing(applied) {
		return true
	}
	for op := range t.all {
		if op.wait.wantsListing(applied) || (op.state == settling && applied <= op.ended) {
			return true
		}
	}
	return false
}
