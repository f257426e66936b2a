package fake

import (
	"context"
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// readsAfresh are the operations that vCenter itself refuses, as opposed to the operator's index.
var readsAfresh = []vsphere.OperationKind{vsphere.OpClone, vsphere.OpDestroy, vsphere.OpClaim, vsphere.OpMove, vsphere.OpRename, vsphere.OpAdopt}

// call is a requested operation.
type call struct {
	vsphere.Operation
	Group vsphere.GroupKey
	Name  string
	// op is the attempted operation, as a phrase.
	op string
	// host of the template, for the budget.
	host     string
	revision string
	// met is the known state of the VM.
	met vsphere.Met
	// check reports whether vCenter accepts the call. If nothing is to be done, done is true.
	check func() (done bool, err *vsphere.Error)
	// effect runs at the end of the task.
	effect func() *vsphere.Error
}

// task is an accepted call.
type task struct {
	call
	// vanish is true for a request that silently did not reach vCenter.
	vanish bool
	fail   *vsphere.Error
	// end reports the result to the budget.
	end func(ok bool)
}

// submit makes vCenter accept or refuse a call.
func (s *Server) submit(ctx context.Context, c call) error {
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.unlock()
	c.Since = s.opt.Now()
	reserved := s.budget.Reserved(string(c.Group), c.host) > 0
	accepted, err := s.accept(ctx, c)
	entry := Entry{Kind: c.Kind, Group: c.Group, Ordinal: c.Ordinal, Name: c.Name, VM: c.VM, Budgeted: accepted && reserved}
	if err != nil {
		entry.Err = err
	}
	s.journal = append(s.journal, entry)
	return entry.Err
}

// accept starts the task of a call. If nothing is to be done, or vCenter refuses, it returns false.
func (s *Server) accept(ctx context.Context, c call) (bool, *vsphere.Error) {
	if err := s.available(ctx, c.op); err != nil {
		return false, err
	}
	if other := s.inFlight(c.Group, c.Ordinal); other != nil {
		overtakes := other.Kind == vsphere.OpShutdownGuest && c.Kind != vsphere.OpShutdownGuest
		if c.Kind.Ends() && other.Overtaken(s.opt.Now()) {
			overtakes = true
			s.ended(other, false)
		}
		if !overtakes {
			return false, fail(vsphere.KindBusy, c.op, "another operation on this ordinal is in flight")
		}
		s.remove(other)
	}
	if done, err := c.check(); done || err != nil {
		// Otherwise the operator's own index refuses: nothing is submitted, so nothing has failed.
		if err != nil && slices.Contains(readsAfresh, c.Kind) {
			s.failed(c, err)
		}
		return false, err
	}
	if err, ok := pop(s.failSubmit, c.Kind); ok {
		err = scripted(err, c.op)
		s.failed(c, err)
		return false, err
	}
	t := &task{call: c, end: s.budget.Start(string(c.Group), c.host)}
	if c.Kind == vsphere.OpShutdownGuest { // not a task in vCenter: the guest shuts itself down
		s.ended(t, true)
	}
	if happens, ok := pop(s.lost, c.Kind); ok {
		t.OutcomeUnknown, t.vanish = true, !happens
	} else if c.Kind != vsphere.OpShutdownGuest {
		s.lastTask++
		t.Task = fmt.Sprintf("task-%d", s.lastTask)
	}
	if err, ok := pop(s.failTask, c.Kind); ok {
		t.fail = scripted(err, c.op)
	}
	s.tasks = append(s.tasks, t)
	if s.opt.AutoFinish && !t.OutcomeUnknown {
		s.finish(t)
	}
	return true, nil
}

// available returns the reason why no call to vCenter is possible, or nil.
func (s *Server) available(ctx context.Context, op string) *vsphere.Error {
	if err := ctx.Err(); err != nil {
		return &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: err}
	}
	if s.err != nil {
		return &vsphere.Error{Kind: vsphere.KindOf(s.err), Op: op, Err: s.err}
	}
	return nil
}

func (s *Server) inFlight(group vsphere.GroupKey, ordinal int32) *task {
	for _, t := range s.tasks {
		if t.Group == group && t.Ordinal == ordinal {
			return t
		}
	}
	return nil
}

func (s *Server) remove(t *task) {
	s.tasks = slices.DeleteFunc(s.tasks, func(o *task) bool { return o == t })
}

// ended reports the result to the budget after the lock's release.
func (s *Server) ended(t *task, ok bool) {
	end := t.end
	s.after = append(s.after, func() { end(ok) })
}

// finish ends a task. Its effect or failure is then observed.
func (s *Server) finish(t *task) {
	s.remove(t)
	err := t.fail
	if err == nil && !t.vanish {
		err = t.effect()
	}
	s.ended(t, err == nil)
	switch {
	case err != nil:
		s.failed(t.call, err)
	case !t.vanish:
		s.failures.Succeeded(operations.Key{Group: t.Group, Ordinal: t.Ordinal}, t.Kind)
	}
	s.after = append(s.after, func() { s.groupChanged(t.Group) })
}

// failed records a failure.
func (s *Server) failed(c call, err *vsphere.Error) {
	s.failures.Add(c.Group, vsphere.Failure{Kind: c.Kind, Ordinal: c.Ordinal, VM: c.VM, Err: err, At: s.opt.Now(), Revision: c.revision, Met: c.met})
}

// Step ends the oldest task and reports whether there was one.
func (s *Server) Step() bool {
	s.mu.Lock()
	defer s.unlock()
	if len(s.tasks) == 0 {
		return false
	}
	s.finish(s.tasks[0])
	return true
}

// Finish ends up to n tasks, the oldest first, and returns their number. A negative n means all, including tasks that
// notifications of the first ones start.
func (s *Server) Finish(n int) int {
	ended := 0
	for ended != n && s.Step() {
		ended++
	}
	return ended
}

// FinishOne ends the task of one ordinal and reports whether there was one.
func (s *Server) FinishOne(group vsphere.GroupKey, ordinal int32) bool {
	s.mu.Lock()
	defer s.unlock()
	t := s.inFlight(group, ordinal)
	if t != nil {
		s.finish(t)
	}
	return t != nil
}

// Pending returns the number of tasks that have not ended.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.unlock()
	return len(s.tasks)
}
