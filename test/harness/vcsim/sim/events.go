package sim

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// post records an event for the user of the context.
func post(ctx *simulator.Context, event types.BaseEvent) {
	manager := ctx.Map.EventManager()
	ctx.WithLock(manager, func() { manager.PostEvent(ctx, &types.PostEvent{EventToPost: event}) })
}

// eventOf returns the common part of events about a VM. The caller holds the VM.
func eventOf(ctx *simulator.Context, vm *simulator.VirtualMachine) types.VmEvent {
	return types.VmEvent{Event: types.Event{
		Datacenter: datacenter(ctx),
		Vm:         &types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: vm.Name}, Vm: vm.Self},
	}}
}

// moveEvent returns the only event of a move into a folder: the event of its task.
func moveEvent(ctx *simulator.Context, t *simulator.Task, folder types.ManagedObjectReference) *types.TaskEvent {
	return &types.TaskEvent{Event: types.Event{Datacenter: datacenter(ctx)}, Info: types.TaskInfo{
		Key: t.Info.Key, Task: t.Self, Name: "MoveIntoFolder_Task", DescriptionId: descriptions["Folder.moveIntoFolder"],
		Entity: &folder, State: types.TaskInfoStateSuccess, Reason: &types.TaskReasonUser{UserName: ctx.Session.UserName}, QueueTime: time.Now(),
	}}
}

// datacenter returns the only datacenter.
func datacenter(ctx *simulator.Context) *types.DatacenterEventArgument {
	for _, o := range ctx.Map.AllReference("Datacenter") {
		if dc, ok := o.(*simulator.Datacenter); ok {
			return &types.DatacenterEventArgument{EntityEventArgument: types.EntityEventArgument{Name: dc.Name}, Datacenter: dc.Self}
		}
	}
	return nil
}
