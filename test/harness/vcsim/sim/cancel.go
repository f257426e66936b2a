package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CancelTask cancels a task. The task ends with RequestCanceled and has changed nothing.
func (d *desk) CancelTask(ctx *simulator.Context, req *types.CancelTask) soap.HasFault {
	task, ok := ctx.Map.Get(req.This).(*simulator.Task)
	body := &methods.CancelTaskBody{}
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	ctx.WithLock(task, func() {
		switch {
		case task.Info.State == types.TaskInfoStateSuccess || task.Info.State == types.TaskInfoStateError:
			body.Fault_ = simulator.Fault("", &types.InvalidState{})
		case !task.Info.Cancelable:
			body.Fault_ = simulator.Fault("", &types.NotSupported{})
		default:
			ctx.Update(task, []types.PropertyChange{{Name: "info.cancelled", Val: true}})
			if waits, ok := d.strict.tasks.cancelable.LoadAndDelete(task.Self); ok {
				close(waits.(chan struct{})) //nolint:forcetypeassert // nothing else is stored
			}
			body.Res = &types.CancelTaskResponse{}
		}
	})
	return body
}

// canceled reports whether a client canceled a task. From now on, the task cannot be canceled.
func canceled(ctx *simulator.Context, task *simulator.Task) (asked bool) {
	ctx.WithLock(task, func() {
		asked = task.Info.Cancelled //nolint:misspell // vSphere spells it so
		ctx.Update(task, []types.PropertyChange{{Name: "info.cancelable", Val: false}})
	})
	return asked
}
