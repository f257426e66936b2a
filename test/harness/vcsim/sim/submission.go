package sim

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// execute is the work of a simulator's task.
type execute = func(*simulator.Task) (types.AnyType, types.BaseMethodFault)

// submission describes the task that a call is about to start. It is in the call's context, because the simulator creates the task and shows it
// only to handlers.
type submission struct {
	// entity of the task.
	entity types.ManagedObjectReference
	// around replaces the task's work. It gets the work and runs with the entity locked.
	around func(t *simulator.Task, run execute) (types.AnyType, types.BaseMethodFault)
	// structural tasks hold the tree before they lock any object.
	structural bool
	// queues makes a task wait for its turn if too many tasks run.
	queues bool
	// cancelable until the work begins.
	cancelable bool
	// delay is the time that a structural task waits before its work, without locks that others need.
	delay time.Duration
	// until, if not nil, delays the work further until it is closed. Then born is called, if not nil.
	until <-chan struct{}
	born  func()
	// rest, if not nil, is what a structural task does after its work, without locks. It does its own waiting, and can be canceled meanwhile.
	rest func(t *simulator.Task, res types.AnyType) (types.AnyType, types.BaseMethodFault)
	// placed is true for a power-on whose host DRS has chosen. system and description are the differences of its task from a task that an account
	// starts.
	placed, system bool
	description    string
	// task is set when a handler sees it. canceled is closed when a client cancels it.
	task     *simulator.Task
	canceled chan struct{}

	mu sync.Mutex
	// files are tasks that remove files. The work starts them and does not wait for them.
	files []*simulator.Task
}

func submissionOf(ctx *simulator.Context) *submission {
	if ctx == nil || ctx.Context == nil {
		return nil
	}
	s, _ := ctx.Value(submissionKey{}).(*submission)
	return s
}

// waitForFiles waits for the deletion of destroyed VMs' files.
func (s *submission) waitForFiles() {
	s.mu.Lock()
	files := s.files
	s.files = nil
	s.mu.Unlock()
	for _, task := range files {
		task.Wait()
	}
}

// descriptions are vCenter's names of operations that differ from the simulator's. They come from the list that govmomi's simulator recorded from
// a vCenter.
var descriptions = map[string]string{
	"VirtualMachine.cloneVm":    "VirtualMachine.clone",
	"VirtualMachine.reconfigVm": "VirtualMachine.reconfigure",
	"Folder.moveIntoFolder":     "Folder.moveInto",
}

type submissionKey struct{}

func submit(ctx *simulator.Context, s *submission) {
	ctx.Context = context.WithValue(ctx.Context, submissionKey{}, s)
}

// submissions replaces the work of tasks. The simulator sets a task to running, in the call's goroutine, before it starts the goroutine of the
// work. submissions uses that moment.
type submissions struct {
	mo.ManagedEntity

	// creator is the context of the task that holds the tree, or nil. See PutObject.
	creator atomic.Pointer[creator]
	// cancelable are the waiting tasks that can be canceled, by reference.
	cancelable sync.Map
	queue      queue
	inner      inner
	// over is true once the files are about to be removed. It needs the lock of the tree.
	over bool
}

// end waits for the running structural task and prevents later ones, because a clone panics if its files disappear.
func (h *submissions) end(registry *simulator.Registry) {
	ctx := &simulator.Context{Map: registry}
	ctx.WithLock(treeRef, func() { h.over = true })
}

// creator contains the locks of a structural task.
type creator struct {
	ctx     *simulator.Context
	unlocks []func()
}

func (*submissions) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Submissions", Value: "submissions"}
}
func (*submissions) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// PutObject locks a new VM until the task that makes it is done. The simulator shows the VM immediately, and sets its properties without its
// lock.
func (h *submissions) PutObject(_ *simulator.Context, o mo.Reference) {
	if vm, ok := o.(*simulator.VirtualMachine); ok {
		if c := h.creator.Load(); c != nil {
			c.unlocks = append(c.unlocks, c.ctx.Map.AcquireLock(c.ctx, vm))
		}
	}
}

// UpdateObject sees a task at its start.
func (h *submissions) UpdateObject(ctx *simulator.Context, o mo.Reference, _ []types.PropertyChange) {
	s := submissionOf(ctx)
	if s == nil || o.Reference().Type != "Task" {
		return
	}
	t, ok := ctx.Map.Get(o.Reference()).(*simulator.Task)
	if !ok || t.Info.Entity == nil {
		return
	}
	if t.Info.Entity.Type == "FileManager" && t.Info.State == types.TaskInfoStateRunning {
		s.mu.Lock()
		s.files = append(s.files, t)
		s.mu.Unlock()
	}
	if s.task != nil && s.task.Self != t.Self {
		h.inner.seen(ctx, t)
	}
	if s.task != nil || *t.Info.Entity != s.entity {
		return
	}
	s.task = t
	if ctx.Session != nil && ctx.Session.UserName != "" {
		t.Info.Reason = &types.TaskReasonUser{UserName: ctx.Session.UserName}
	}
	if t.Info.Cancelable = s.cancelable; s.cancelable {
		s.canceled = make(chan struct{})
		h.cancelable.Store(t.Self, s.canceled)
	}
	if s.system {
		t.Info.Reason = &types.TaskReasonSystem{}
	}
	if id, ok := descriptions[t.Info.DescriptionId]; ok {
		t.Info.DescriptionId = id
	}
	t.Info.DescriptionId = cmp.Or(s.description, t.Info.DescriptionId)
	run := t.Execute
	t.Execute = func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) { return s.execute(ctx, t, run) }
	if s.structural {
		t.Execute = h.changingTheTree(ctx, s, t.Execute)
	}
	h.queue.admit(ctx, s, t)
	if s.detached(&h.queue) {
		// The simulator locks the task's entity before the work, which is too early (see treeRef), and keeps the lock during the delay.
		t.Info.Entity = &types.ManagedObjectReference{Type: "Hold", Value: t.Self.Value}
	}
}

// changingTheTree returns the work of a structural task: it waits, and then works with the tree locked.
func (h *submissions) changingTheTree(ctx *simulator.Context, s *submission, work execute) execute {
	return func(t *simulator.Task) (res types.AnyType, fault types.BaseMethodFault) {
		if s.rest == nil {
			s.wait()
			h.cancelable.Delete(t.Self)
		}
		ctx.WithLock(treeRef, func() {
			if h.over {
				fault = new(types.RequestCanceled)
				return
			}
			if s.born != nil {
				s.born()
			}
			c := &creator{ctx: ctx}
			h.creator.Store(c)
			defer func() {
				h.creator.Store(nil)
				for _, unlock := range c.unlocks {
					unlock()
				}
			}()
			res, fault = work(t)
		})
		switch {
		case s.rest == nil:
		case fault != nil:
			h.cancelable.Delete(t.Self)
		default:
			return s.rest(t, res)
		}
		return res, fault
	}
}

// detached reports whether the task waits before its object is locked.
func (s *submission) detached(q *queue) bool { return s.structural || s.queues && q.turns != nil }

// wait waits until the work must begin or a client cancels the task.
func (s *submission) wait() {
	select {
	case <-time.NewTimer(s.delay).C:
	case <-s.canceled:
		return
	}
	if s.until == nil {
		return
	}
	select {
	case <-s.until:
	case <-s.canceled:
	}
}

// execute does the work, unless the object was removed meanwhile. Tasks on one object run one at a time.
func (s *submission) execute(ctx *simulator.Context, t *simulator.Task, run execute) (res types.AnyType, fault types.BaseMethodFault) {
	ctx.WithLock(s.entity, func() {
		if ctx.Map.Get(s.entity) == nil {
			fault = &types.ManagedObjectNotFound{Obj: s.entity}
			return
		}
		if s.around != nil {
			res, fault = s.around(t, run)
		} else {
			res, fault = run(t)
		}
	})
	s.waitForFiles()
	return res, fault
}

// treeRef represents the shape of the inventory: its objects, their names and their folders. A request locks it like an object, and always before
// objects. Otherwise a clone, which locks its template and then the folder, and a folder's destruction, which locks the folder and then its VMs,
// would deadlock.
var treeRef = types.ManagedObjectReference{Type: "Tree", Value: "tree"}

// started starts a task, with its entity locked as in any call.
func started(ctx *simulator.Context, s *submission, start func() soap.HasFault) (res soap.HasFault) {
	s.queues = true
	submit(ctx, s)
	ctx.WithLock(s.entity, func() { res = start() })
	if s.task != nil && s.task.Info.Entity.Type == "Hold" {
		// Contexts own locks, and the task already runs with ctx, so use another context.
		other := &simulator.Context{Map: ctx.Map}
		other.WithLock(s.task, func() { s.task.Info.Entity = &s.entity })
	}
	return res
}

// structural starts a task that changes the shape of the inventory.
func structural(ctx *simulator.Context, s *submission, start func() soap.HasFault) soap.HasFault {
	s.structural = true
	return started(ctx, s, start)
}
