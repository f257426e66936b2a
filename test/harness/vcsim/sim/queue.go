package sim

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// queue bounds the tasks that run at a time, and knows what VMs are busy with.
type queue struct {
	// turns has a place for each task that may run; nil for any number.
	turns chan struct{}
	// refuses is Options.RefuseBusy.
	refuses bool
	// busy are the tasks of VMs, but clones of them, that have not ended.
	busy sync.Map
}

// open sets what the options say.
func (q *queue) open(o Options) {
	q.refuses = o.RefuseBusy
	if o.RunningTasks > 0 {
		q.turns = make(chan struct{}, o.RunningTasks)
	}
}

// admit has a new task wait for its turn, and notes that its VM is busy.
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

// check refuses what would change a VM that is busy.
func (q *queue) check(m *simulator.Method) types.BaseMethodFault {
	if !q.refuses || !changesVM(m.Body) {
		return nil
	}
	if task, busy := q.busy.Load(m.This); busy {
		return &types.TaskInProgress{Task: task.(types.ManagedObjectReference)} //nolint:forcetypeassert // nothing else is stored
	}
	return nil
}

// changesVM reports whether a call would change the VM that it is made to.
func changesVM(body any) bool {
	switch body.(type) {
	case *types.ReconfigVM_Task, *types.PowerOnVM_Task, *types.PowerOffVM_Task, *types.Destroy_Task, *types.Rename_Task, *types.RelocateVM_Task, *types.UnregisterVM:
		return true
	}
	return false
}
