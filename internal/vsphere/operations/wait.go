package operations

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Patience is how long a clone that may be ours is waited for, from when this process saw it first. After that the name in
// the group's folder, which is the lock, and the stamps decide: a clone that hangs must not hold groups for ever.
const Patience = 10 * time.Minute

// Untracked is a queued or running task that may be ours, and that no operation of this process is known to have.
type Untracked struct {
	Ref string
	// Entity is the object that the task is about: the template, for a clone; zero if vCenter does not tell.
	Entity vsphere.Ref
	// Clone is true for a task that makes a VM.
	Clone bool
	// Own is true for one that the account of this process certainly started.
	Own bool
	// Queued is when vCenter accepted it, by vCenter's clock; zero if it does not tell.
	Queued time.Time
	// Since is when this process saw it first.
	Since time.Time
}

// vague reports whether the object of the task does not say which VM it is about: a clone names its template, and a placement by DRS its datacenter.
func (u Untracked) vague() bool { return u.Clone || u.Entity.Type == vsphere.TypeDatacenter }

// From reports whether a clone may be one of these templates; without any it may.
func (u Untracked) From(templates map[vsphere.Ref]bool) bool {
	return u.Entity.IsZero() || len(templates) == 0 || templates[u.Entity]
}

// After reports whether a task may have been submitted after a moment of another clock than vCenter's.
func (u Untracked) After(moment time.Time) bool {
	return u.Queued.IsZero() || u.Queued.After(moment.Add(-clockSlack))
}

// clockSlack is by how much two clocks are taken to differ at most.
const clockSlack = 10 * time.Minute

// awaited is a task that must end. What it has done is in a listing that began after the mark at which it was seen to have ended.
type awaited struct {
	Untracked
	over  bool
	ended Mark
}

// hangs reports whether the task has run for so long that nobody waits for it any more.
func (a *awaited) hangs(now time.Time) bool {
	return !a.over && a.vague() && now.Sub(a.Since) >= Patience
}

// holds reports whether the effect of the task may be missing from what was applied.
func (a *awaited) holds(applied Mark, now time.Time) bool {
	if a.over {
		return applied <= a.ended
	}
	return !a.hangs(now)
}

// waitFor is a set of tasks that must end, as it was read at a mark.
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

// over reports whether nothing is waited for any more and a listing that began later was applied. A nil wait is not over:
// the server's task list has not been read.
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

// awaits is a task that is waited for, or "".
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

// runs reports whether a task may still run.
func (w *waitFor) runs(task string, now time.Time) bool {
	a := w.tasks[task]
	return a != nil && !a.over && !a.hangs(now)
}

// wantsListing reports whether only a listing that begins later than the one applied last is missing.
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

// waits returns every set. The lock is held.
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

// NeedsScan reports whether a lost reply waits for the server's task list, and how long until it may be read.
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

// asksForSlot reports whether nobody has looked yet if an operation whose reply was lost needs its slot.
func (op *operation) asksForSlot() bool { return op.done != nil && !op.slotAsked }

// Scanned tells which untracked tasks the server had when its list was read, which began at a mark. Each lost
// reply may be any of them that fits.
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
			// Of several lost replies, no more than that many slots are needed as there are such tasks, whichever is whose.
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

// followSlot has the slot follow a power-on from the task that placed the VM, and that has ended, to the one of the VM itself.
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

// fits reports whether a task may be that of the operation. A clone of another template, or one that vCenter had before we
// asked, is not.
func (op *operation) fits(task Untracked) bool {
	switch {
	case op.Kind == vsphere.OpClone:
	case task.Entity == op.VM:
		return true
	case op.Kind == vsphere.OpMove:
		return task.Entity == op.Folder // whose task it is
	default:
		return !op.Datacenter.IsZero() && task.Entity == op.Datacenter && task.After(op.since)
	}
	var template map[vsphere.Ref]bool
	if !op.Template.IsZero() {
		template = map[vsphere.Ref]bool{op.Template: true}
	}
	return task.Clone && task.From(template) && task.After(op.since)
}

// sparesSlot reports whether an operation whose reply was lost keeps a slot for nothing: the task that needed it has ended. Others that might be
// it, and somebody else's, are no reason to keep the slot from those who clone.
func (op *operation) sparesSlot(now time.Time) bool {
	return op.done != nil && op.wait != nil && !op.wait.runs(op.slotTask, now)
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
			t.inherited.add(task, now)
		}
	}
}

// Inheritance is what a predecessor may have left running.
type Inheritance struct {
	// Known is false before Inherit was called and a listing that began later was applied.
	Known bool
	// Running are the clones that have to be waited for, Ended those that have ended, and whose effect may not be in the inventory
	// yet. Hanging are those that nobody waits for any more. All are sorted by reference.
	Running, Ended, Hanging []Untracked
}

// Inherited returns what a predecessor may have left running, as far as it matters still.
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

// WantsListing reports whether something waits for a full listing that begins later than the one applied last.
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
