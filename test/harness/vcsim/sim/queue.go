package sim

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// queue limits the tasks that run at a time, and knows the tasks of busy VMs.
type queue struct {
	// turns has a slot for each task that can run. Nil means no limit.
	turns chan struct{}
	// refuses is Options.RefuseBusy.
	refuses bool
	// busy are the unfinished tasks of VMs, except clones of them.
	busy sync.Map
}

// open applies the options.
func (q *queue) open(o Options) {
	q.refuses = o.RefuseBusy
	if o.RunningTasks > 0 {
		q.turns = make(chan struct{}, o.RunningTasks)
	}
}

// admit makes a new task wait for its turn, and marks its VM as busy.
func (q *queue) admit(ctx *simulator.Context, s *submission, t *simulator.Task) {
	entity, work := s.entity, t.Execute
	waits := s.queues && q.turns != nil
	if waits {
		t.Info.State = types.TaskInfoStateQueued
	}
	if entity.Type == "VirtualMachine" && t.Info.DescriptionId != "VirtualMachine.clone" {
		q.busy.Store(entity, t.Self)
	}
	t.Execute = func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		defer q.busy.CompareAndDelete(entity, t.Self)
		if waits {
			q.turns <- struct{}{}
			defer func() { <-q.turns }()
			ctx.Map.AtomicUpdate(ctx, t, []types.PropertyChange{{Name: "info.state", Val: types.TaskInfoStateRunning}})
		}
		return work(t)
	}
}

// check refuses changes of a busy VM.
func (q *queue) check(m *simulator.Method) types.BaseMethodFault {
	if !q.refuses || !changesVM(m.Body) {
		return nil
	}
	if task, busy := q.busy.Load(m.This); busy {
		return &types.TaskInProgress{Task: task.(types.ManagedObjectReference)} //nolint:forcetypeassert // nothing else is stored
	}
	return nil
}

// changesVM reports whether a call changes its VM.
func changesVM(body any) bool {
	switch body.(type) {
	case *types.ReconfigVM_Task, *types.PowerOnVM_Task, *types.PowerOffVM_Task, *types.Destroy_Task, *types.Rename_Task, *types.RelocateVM_Task, *types.UnregisterVM:
		return true
	}
	return false
}
