package operations

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Mark is a point in the inventory's own time.
type Mark = uint64

const (
	// DefaultGrace is the time from a lost reply to the read of the server's task list: the request can still be in transit.
	DefaultGrace = 2 * time.Second
	// slotGrace is the time from a lost reply to the read that checks whether a task needs the slot. Most such requests never reached
	// vCenter. A request that is longer in transit causes one excess task for a moment, which is harmless.
	slotGrace = 250 * time.Millisecond
)

var (
	errBusy     = errors.New("another operation on this ordinal is in flight")
	errShutdown = errors.New("the guest did not shut down in time; power the VM off, or look into the guest")
)

// Key identifies the ordinal of an operation.
type Key struct {
	Group   vsphere.GroupKey
	Ordinal int32
}

// Request describes an operation to begin.
type Request struct {
	Key
	Kind vsphere.OperationKind
	// VM is zero for a clone, and Template for all other operations.
	VM, Template vsphere.Ref
	// Name, UUID and Stamp of the VM that a clone creates.
	Name  string
	UUID  string
	Stamp vsphere.Stamp
	// Folder that a VM moves into.
	Folder vsphere.Ref
	// Datacenter through which DRS powers the VM on. It is zero if the VM itself is powered on.
	Datacenter vsphere.Ref
	// Mark that a VM gets.
	Mark vsphere.ReleaseMark
	// CPU, CoresPerSocket and MemoryMiB that a VM gets. Zero means unchanged.
	CPU, CoresPerSocket int32
	MemoryMiB           int64
	// Met is the known state of the VM.
	Met vsphere.Met
	// ChangeVersion of the VM before a change that an observation does not show otherwise.
	ChangeVersion string
	// Within is the time limit for a guest's shutdown.
	Within time.Duration
}

type state int

const (
	submitted state = iota
	running
	settling
	unknown
	// shutting is a guest shutdown in progress: there is no task, only the effect to wait for.
	shutting
)

type operation struct {
	Request
	state state
	since time.Time
	task  string
	done  func(ok bool)
	// ended is the mark of the task's end, for settling, and endedAt its time by the clock.
	ended   Mark
	endedAt time.Time
	// found is true for a clone that created nothing, because the wanted VM already has its name.
	found bool
	// held is true after the effect was Held: the next step can begin.
	held bool
	// canceledAt is the time of the last cancel request to vCenter, and cancelErr vCenter's refusal.
	canceledAt time.Time
	cancelErr  error
	// lostAt is the time of the lost reply. wait is nil until the server's task list was read.
	lostAt time.Time
	wait   *waitFor
	// slotAsked is true after the check of the task list, after slotGrace, whether a task needs the slot. If one does, it is slotTask.
	slotAsked bool
	slotTask  string
}

// Tracker is safe for concurrent use.
type Tracker struct {
	// Grace can be changed before first use.
	Grace time.Duration

	now      func() time.Time
	notifier vsphere.GroupNotifier

	mu sync.Mutex
	// ops are the operations in flight of each group, by ordinal: a pass reads only its own.
	ops map[vsphere.GroupKey]map[int32]*operation
	// tasks are the running operations by task.
	tasks     map[string]*operation
	failures  Failures
	inherited *waitFor
}

// New returns a tracker without operations. The tracker holds no lock when it calls notifier.
func New(now func() time.Time, notifier vsphere.GroupNotifier) *Tracker {
	return &Tracker{Grace: DefaultGrace, now: now, notifier: notifier, ops: map[vsphere.GroupKey]map[int32]*operation{}, tasks: map[string]*operation{}}
}

// Begin registers an operation before its submission. While another operation on the same ordinal is in flight, it fails with KindBusy.
// Exceptions: any other operation overtakes a guest shutdown, which is no task in vCenter, and any other operation than a clone overtakes a clone that
// is only held for its group. An operation that ends the VM overtakes a hanging task.
func (t *Tracker) Begin(r Request) (*Handle, error) {
	var left func(bool)
	defer func() {
		if left != nil {
			left(false)
		}
	}()
	t.mu.Lock()
	defer t.mu.Unlock()
	if op := t.op(r.Key); op != nil {
		overtakes := op.state == shutting && r.Kind != vsphere.OpShutdownGuest
		overtakes = overtakes || (op.held && r.Kind != vsphere.OpClone)
		if r.Kind.Ends() && op.shown().Overtaken(t.now()) {
			overtakes, left = true, op.done // its slot is free, although the task can still run
		}
		if !overtakes {
			return nil, &vsphere.Error{Kind: vsphere.KindBusy, Op: string(r.Kind) + " " + r.Name, Err: errBusy}
		}
		t.remove(op)
	}
	op := &operation{Request: r, since: t.now()}
	if t.ops[r.Group] == nil {
		t.ops[r.Group] = map[int32]*operation{}
	}
	t.ops[r.Group][r.Ordinal] = op
	return &Handle{t: t, op: op}, nil
}

// Handle is a registered operation. Call exactly one of its methods, once.
type Handle struct {
	t  *Tracker
	op *operation
}

// Accepted records that vCenter runs the operation as a task. done is called once, when the task has ended.
func (h *Handle) Accepted(task string, done func(ok bool)) {
	h.t.update(h.op, func() {
		h.op.state, h.op.task, h.op.done = running, task, done
		h.t.tasks[task] = h.op
	})
}

// Finished records that the operation was completed without a task, at a mark, and awaits its effect.
func (h *Handle) Finished(at Mark) {
	h.t.update(h.op, func() {
		h.op.state, h.op.ended, h.op.endedAt = settling, at, h.t.now()
		if h.op.Kind == vsphere.OpShutdownGuest {
			h.op.state = shutting
		}
		h.t.failures.Succeeded(h.op.Key, h.op.Kind)
	})
}

// Unknown records that the reply was lost. done is called once, when the result is known.
func (h *Handle) Unknown(done func(ok bool)) {
	h.t.update(h.op, func() { h.op.state, h.op.lostAt, h.op.done = unknown, h.t.now(), done })
}

// Failed records vCenter's refusal, with the time of the retry.
func (h *Handle) Failed(err error) {
	h.t.update(h.op, func() { h.t.fail(h.op, err) })
}

// Withdraw records that nothing was sent, or that nothing was left to do.
func (h *Handle) Withdraw() {
	h.t.update(h.op, func() { h.t.remove(h.op) })
}

// update runs f with the lock held and notifies the group.
func (t *Tracker) update(op *operation, f func()) {
	t.mu.Lock()
	if t.op(op.Key) != op {
		t.mu.Unlock()
		return
	}
	f()
	t.mu.Unlock()
	t.notifier.GroupChanged(op.Group)
}

// op returns the operation on an ordinal, or nil. The caller holds the lock, as for the next functions.
func (t *Tracker) op(key Key) *operation { return t.ops[key.Group][key.Ordinal] }

// all yields every operation. The yielded one can be removed.
func (t *Tracker) all(yield func(*operation) bool) {
	for _, of := range t.ops {
		for _, op := range of {
			if !yield(op) {
				return
			}
		}
	}
}

func (t *Tracker) remove(op *operation) {
	of := t.ops[op.Group]
	delete(of, op.Ordinal)
	if len(of) == 0 {
		delete(t.ops, op.Group)
	}
	if t.tasks[op.task] == op {
		delete(t.tasks, op.task)
	}
}

// fail removes the operation and records the failure. The caller holds the lock.
func (t *Tracker) fail(op *operation, err error) {
	t.remove(op)
	t.failures.Add(op.Group, vsphere.Failure{Kind: op.Kind, Ordinal: op.Ordinal, VM: op.VM, Err: err, At: t.now(), Revision: op.Stamp.Revision, Met: op.Met})
}

// Task is a task to watch.
type Task struct {
	Ref string
	// Kind of the operation. It is empty for a task of unknown origin that can be ours.
	Kind vsphere.OperationKind
	// Since is the time of the submission or of the first sighting.
	Since time.Time
}

// Tasks returns the tasks whose end matters, unordered.
func (t *Tracker) Tasks() []Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Task, 0, len(t.tasks))
	for ref, op := range t.tasks {
		out = append(out, Task{ref, op.Kind, op.since})
	}
	awaited := map[string]bool{}
	for _, w := range t.waits() {
		for ref, a := range w.tasks {
			if t.tasks[ref] == nil && !a.over && !awaited[ref] {
				awaited[ref] = true
				out = append(out, Task{Ref: ref, Since: a.Since})
			}
		}
	}
	return out
}

// Tracks reports whether a task belongs to an operation of this process.
func (t *Tracker) Tracks(task string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tasks[task] != nil
}

// Landed returns the tasks that count as running although their effect is visible, unordered.
func (t *Tracker) Landed(look func(Effect) Sight) (landed []Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ref, op := range t.tasks {
		if look(Effect{Request: op.Request, VM: op.VM}) == Seen {
			landed = append(landed, Task{ref, op.Kind, op.since})
		}
	}
	return landed
}

// Of returns the request of a running task's operation.
func (t *Tracker) Of(task string) (Request, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if op := t.tasks[task]; op != nil {
		return op.Request, true
	}
	return Request{}, false
}

// RunningClone returns the running clone of an ordinal.
func (t *Tracker) RunningClone(key Key) (r Request, task string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	op := t.op(key)
	if op == nil || op.Kind != vsphere.OpClone || op.state != running {
		return Request{}, "", false
	}
	return op.Request, op.task, true
}

// Canceled records that vCenter was asked to cancel a task, and its answer: nil if it agreed.
func (t *Tracker) Canceled(task string, err error) {
	t.mu.Lock()
	op := t.tasks[task]
	if op != nil {
		op.canceledAt, op.cancelErr = t.now(), err
	}
	t.mu.Unlock()
	if op != nil {
		t.notifier.GroupChanged(op.Group)
	}
}

// Succeeded records the success of a task, as seen at a mark. vm is the VM that a clone created, otherwise zero.
func (t *Tracker) Succeeded(task string, vm vsphere.Ref, at Mark) {
	t.ended(task, at, true, func(op *operation) {
		op.state, op.ended, op.endedAt = settling, at, t.now()
		if !vm.IsZero() {
			op.VM = vm
		}
		t.failures.Succeeded(op.Key, op.Kind)
	})
}

// TaskFailed records the failure of a task, as seen at a mark.
func (t *Tracker) TaskFailed(task string, err error, at Mark) {
	t.ended(task, at, false, func(op *operation) { t.fail(op, err) })
}

// TaskLost records that vCenter no longer knows the task, so that its result is unknown.
func (t *Tracker) TaskLost(task string, at Mark) {
	t.ended(task, at, false, func(op *operation) { op.state, op.lostAt = unknown, t.now() })
}

func (t *Tracker) ended(task string, at Mark, ok bool, f func(*operation)) {
	t.mu.Lock()
	for _, w := range t.waits() {
		w.end(task, at)
	}
	op := t.tasks[task]
	var done func(bool)
	if op != nil {
		done, op.done = op.done, nil
		delete(t.tasks, task)
		f(op)
	}
	t.mu.Unlock()
	if done != nil {
		done(ok)
	}
	if op != nil {
		t.notifier.GroupChanged(op.Group)
	}
}

// Settle removes operations whose effect is visible, and those whose effect a full listing would have shown. applied is the mark at
// which the last applied listing began, or zero if the inventory is not trusted.
func (t *Tracker) Settle(applied Mark, look func(Effect) Sight) {
	var done []func(bool)
	groups := map[vsphere.GroupKey]struct{}{}
	t.mu.Lock()
	now := t.now()
	for op := range t.all {
		if op.state == submitted || op.state == running {
			continue
		}
		sight := look(Effect{Request: op.Request, VM: op.VM, Found: op.found, Unknown: op.state == unknown})
		seen := sight == Seen
		remove := seen
		switch op.state {
		case settling:
			var again bool
			if remove, again = t.settled(op, sight, applied, now); again {
				groups[op.Group] = struct{}{}
			}
		case unknown:
			remove = seen || op.wait.over(applied, now)
			if !remove && op.sparesSlot(now) {
				done, op.done = append(done, op.done), nil
			}
		case shutting:
			if !seen && now.Sub(op.since) >= op.Within {
				t.fail(op, &vsphere.Error{Kind: vsphere.KindTransient, Op: "shut down the guest of " + op.Name, Err: errShutdown})
				groups[op.Group] = struct{}{}
			}
		}
		if remove {
			t.remove(op)
			groups[op.Group] = struct{}{}
			if op.done != nil {
				done = append(done, op.done)
			}
		}
	}
	t.failures.Expire(now)
	t.mu.Unlock()
	for _, f := range done {
		f(true)
	}
	for g := range groups {
		t.notifier.GroupChanged(g)
	}
}

// shown returns the published form of an operation.
func (op *operation) shown() vsphere.Operation {
	out := vsphere.Operation{Kind: op.Kind, Ordinal: op.Ordinal, VM: op.VM, Since: op.since, OutcomeUnknown: op.state == unknown}
	if op.found {
		out.VM = vsphere.Ref{}
	}
	switch {
	case op.state == running:
		out.Task, out.CanceledAt, out.CancelErr = op.task, op.canceledAt, op.cancelErr
	case op.state == unknown && op.Kind != vsphere.OpClone:
		out.Task = op.wait.awaits() // the wait for a clone ends after Patience
	}
	return out
}

// InFlight returns the operations of a group, sorted by ordinal.
func (t *Tracker) InFlight(group vsphere.GroupKey) []vsphere.Operation {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]vsphere.Operation, 0, len(t.ops[group]))
	for _, op := range t.ops[group] {
		out = append(out, op.shown())
	}
	slices.SortFunc(out, func(a, b vsphere.Operation) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return out
}

// Acting reports whether an operation on an ordinal is in flight.
func (t *Tracker) Acting(key Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.op(key) != nil
}

// Cloning returns the names of the VMs that a group's clones in flight create.
func (t *Tracker) Cloning(group vsphere.GroupKey) map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := map[string]bool{}
	for _, op := range t.ops[group] {
		if op.Kind == vsphere.OpClone {
			names[op.Name] = true
		}
	}
	return names
}

// Makes reports whether a clone in flight of any group creates a VM with this name.
func (t *Tracker) Makes(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for op := range t.all {
		if op.Kind == vsphere.OpClone && op.Name == name {
			return true
		}
	}
	return false
}

// Failures returns the failures of a group without a later success, sorted by ordinal and kind.
func (t *Tracker) Failures(group vsphere.GroupKey) []vsphere.Failure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failures.Of(group)
}

// Settling reports whether any operation waits for its effect or result.
func (t *Tracker) Settling() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for op := range t.all {
		if op.state == settling || op.state == unknown || op.state == shutting {
			return true
		}
	}
	return false
}
