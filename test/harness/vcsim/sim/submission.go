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

// execute is what a task of the simulator does when it runs.
type execute = func(*simulator.Task) (types.AnyType, types.BaseMethodFault)

// submission is what is to be done with the task that a call is about to start. It travels in the call's context,
// because the simulator makes the task itself and shows it to handlers only.
type submission struct {
	// entity is the task's.
	entity types.ManagedObjectReference
	// around runs in place of the task's work, with the entity locked, and is given the work.
	around func(t *simulator.Task, run execute) (types.AnyType, types.BaseMethodFault)
	// structural tasks hold the tree before they lock any object.
	structural bool
	// queues is true for a task that waits for its turn if there are too many.
	queues bool
	// cancelable until the work begins.
	cancelable bool
	// delay is how long a structural task waits before the work begins, with nothing locked that others want.
	delay time.Duration
	// until, if not nil, is what it waits for after that, and born, if not nil, is called then.
	until <-chan struct{}
	born  func()
	// rest, if not nil, is what a structural task does after its work, with nothing locked. It waits by itself, and can
	// be canceled while it does.
	rest func(t *simulator.Task, res types.AnyType) (types.AnyType, types.BaseMethodFault)
	// placed is true for a power-on whose host DRS has chosen. system and description are how its task differs then from one that an account starts.
	placed, system bool
	description    string
	// task is set when it was seen, and canceled is closed when somebody asks it to end.
	task     *simulator.Task
	canceled chan struct{}

	mu sync.Mutex
	// files are tasks that remove files, which the work starts and does not wait for.
	files []*simulator.Task
}

func submissionOf(ctx *simulator.Context) *submission {
	if ctx == nil || ctx.Context == nil {
		return nil
	}
	s, _ := ctx.Value(submissionKey{}).(*submission)
	return s
}

// waitForFiles waits until the files of VMs that were destroyed are gone.
func (s *submission) waitForFiles() {
	s.mu.Lock()
	files := s.files
	s.files = nil
	s.mu.Unlock()
	for _, task := range files {
		task.Wait()
	}
}

// descriptions are the names that vCenter gives to operations, where the simulator's differ. They are those of the
// list that govmomi's simulator itself recorded from a vCenter.
var descriptions = map[string]string{
	"VirtualMachine.cloneVm":    "VirtualMachine.clone",
	"VirtualMachine.reconfigVm": "VirtualMachine.reconfigure",
	"Folder.moveIntoFolder":     "Folder.moveInto",
}

type submissionKey struct{}

func submit(ctx *simulator.Context, s *submission) {
	ctx.Context = context.WithValue(ctx.Context, submissionKey{}, s)
}

// submissions puts itself in place of the work of tasks. The simulator changes a task to running, in the call's
// own goroutine, before it starts the goroutine that does the work: that is when.
type submissions struct {
	mo.ManagedEntity

	// creator is the context of the task that holds the tree; nil if none does. See PutObject.
	creator atomic.Pointer[creator]
	// cancelable are the tasks that wait and may be asked to end, by reference.
	cancelable sync.Map
	queue      queue
	inner      inner
	// over is true once the files are about to be removed. Whoever holds the tree may read or change it.
	over bool
}

// end waits for the task that changes the shape of the inventory; no other one does anything any more. A clone panics whose files vanish.
func (h *submissions) end(registry *simulator.Registry) {
	ctx := &simulator.Context{Map: registry}
	ctx.WithLock(treeRef, func() { h.over = true })
}

// creator is what a structural task holds.
type creator struct {
	ctx     *simulator.Context
	unlocks []func()
}

func (*submissions) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Submissions", Value: "submissions"}
}
func (*submissions) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// PutObject locks a new VM for the task that makes it until the task is done: the simulator shows the VM at once, and fills it
// in without its lock.
func (h *submissions) PutObject(_ *simulator.Context, o mo.Reference) {
	if vm, ok := o.(*simulator.VirtualMachine); ok {
		if c := h.creator.Load(); c != nil {
			c.unlocks = append(c.unlocks, c.ctx.Map.AcquireLock(c.ctx, vm))
		}
	}
}

// UpdateObject sees a task when it starts.
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
		// The simulator locks the task's entity before the work, which is too early (see treeRef), and for the delay as well.
		t.Info.Entity = &types.ManagedObjectReference{Type: "Hold", Value: t.Self.Value}
	}
}

// changingTheTree returns what a structural task does: its work with the tree locked, once it has waited.
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

// detached reports whether the task waits for something before its object is locked.
func (s *submission) detached(q *queue) bool { return s.structural || s.queues && q.turns != nil }

// wait waits until the work is to begin, or somebody asks the task to end.
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

// execute does the work, unless the object is gone by now: tasks on one object run one after the other.
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

// treeRef stands for the shape of the inventory: which objects there are, their names and their folders. It is
// locked on behalf of a request like an object, always before objects are: a clone locks its template, then the
// folder; a folder's destruction locks the folder, then the VMs in it; both at once would wait for each other.
var treeRef = types.ManagedObjectReference{Type: "Tree", Value: "tree"}

// started starts a task, with its entity locked as in any call.
func started(ctx *simulator.Context, s *submission, start func() soap.HasFault) (res soap.HasFault) {
	s.queues = true
	submit(ctx, s)
	ctx.WithLock(s.entity, func() { res = start() })
	if s.task != nil && s.task.Info.Entity.Type == "Hold" {
		// Locks are held on behalf of contexts, and the task runs with ctx already: lock it as somebody else.
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
