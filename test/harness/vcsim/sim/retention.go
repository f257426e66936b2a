package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// retention removes tasks some time after they ended, as in vCenter. Later calls with their reference get ManagedObjectNotFound.
type retention struct {
	mo.ManagedEntity
	mu sync.Mutex
	// keep is that time. 0 means forever.
	keep  time.Duration
	ended []endedTask
}

// begin starts the removal of tasks.
func (r *retention) begin(keep time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep = keep
}

type endedTask struct {
	ref types.ManagedObjectReference
	at  time.Time
}

// Reference of the handler.
func (*retention) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "TaskRetention", Value: "task-retention"}
}

// PutObject does nothing, because a new task has not ended.
func (*retention) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject does nothing, because forget removes tasks.
func (*retention) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// UpdateObject records the end of a task.
func (r *retention) UpdateObject(_ *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	if o.Reference().Type != "Task" {
		return
	}
	for _, c := range changes {
		if c.Name == "info.state" && (c.Val == types.TaskInfoStateSuccess || c.Val == types.TaskInfoStateError) {
			r.mu.Lock()
			r.ended = append(r.ended, endedTask{o.Reference(), time.Now()})
			r.mu.Unlock()
			return
		}
	}
}

// forget removes tasks after their retention.
func (r *retention) forget(ctx *simulator.Context) {
	r.mu.Lock()
	n := 0
	for r.keep > 0 && n < len(r.ended) && time.Since(r.ended[n].at) >= r.keep {
		n++
	}
	old := r.ended[:n:n]
	r.ended = r.ended[n:]
	r.mu.Unlock()
	for _, task := range old {
		forgetTask(ctx, task.ref)
	}
}

func forgetTask(ctx *simulator.Context, ref types.ManagedObjectReference) {
	task, ok := ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return
	}
	var entity types.ManagedObjectReference
	ctx.WithLock(task, func() { entity = *task.Info.Entity })
	if e, ok := ctx.Map.Get(entity).(mo.Entity); ok {
		ctx.WithLock(e, func() { forgetRecent(ctx, e, e.Entity().RecentTask, ref) })
	}
	for _, o := range ctx.Map.AllReference("TaskManager") {
		if manager, ok := o.(*simulator.TaskManager); ok {
			manager.Lock()
			forgetRecent(ctx, manager, manager.RecentTask, ref)
			manager.Unlock()
		}
	}
	ctx.Map.Remove(ctx, ref)
}

func forgetRecent(ctx *simulator.Context, o mo.Reference, recent []types.ManagedObjectReference, ref types.ManagedObjectReference) {
	left := slices.DeleteFunc(slices.Clone(recent), func(r types.ManagedObjectReference) bool { return r == ref })
	ctx.Update(o, []types.PropertyChange{{Name: "recentTask", Val: left}})
}
