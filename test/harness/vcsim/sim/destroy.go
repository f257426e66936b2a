package sim

import (
	"context"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// DestroyTask destroys a VM, or a folder with its content.
func (d *desk) DestroyTask(ctx *simulator.Context, req *types.Destroy_Task) soap.HasFault {
	s := &submission{entity: req.This}
	var start func(*simulator.Context, *types.Destroy_Task) soap.HasFault
	switch object := ctx.Map.Get(req.This).(type) {
	case *simulator.VirtualMachine:
		start = object.DestroyTask
		if hold := d.strict.holdRemoval; hold != nil {
			s.around = func(*simulator.Task, execute) (types.AnyType, types.BaseMethodFault) {
				go d.removeAfter(hold(), &simulator.Context{Map: ctx.Map, Session: ctx.Session, Context: context.WithoutCancel(ctx.Context)}, object)
				return nil, nil
			}
		}
	case *simulator.Folder:
		start = object.DestroyTask
		s.around = func(*simulator.Task, execute) (types.AnyType, types.BaseMethodFault) {
			return nil, d.destroyFolder(ctx, object)
		}
	default:
		return &methods.Destroy_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	return structural(ctx, s, func() soap.HasFault { return start(ctx, req) })
}

// removeAfter removes a VM whose destruction has ended.
func (d *desk) removeAfter(until <-chan struct{}, ctx *simulator.Context, vm *simulator.VirtualMachine) {
	<-until
	d.UnregisterVM(ctx, &types.UnregisterVM{This: vm.Self})
}

// destroyFolder destroys a folder with its content, one object at a time. It stops at the first object that cannot be destroyed: "leaving
// some or all of the objects still in the inventory" (API reference, Folder). A running VM is such an object. The caller holds the tree.
func (d *desk) destroyFolder(ctx *simulator.Context, folder *simulator.Folder) types.BaseMethodFault {
	parent, ok := folderAt(ctx, folder.Parent)
	if !ok {
		return &types.NotSupported{} // the folder that belongs to a datacenter
	}
	for _, ref := range children(ctx, folder) {
		var fault types.BaseMethodFault
		switch object := ctx.Map.Get(ref).(type) {
		case nil:
		case *simulator.Folder:
			fault = d.destroyFolder(ctx, object)
		case *simulator.VirtualMachine:
			if half, making := d.strict.makings.of(ref); making && half.task != nil {
				return &types.TaskInProgress{Task: *half.task}
			}
			fault = destroyVM(ctx, object)
		default:
			fault = &types.NotSupported{}
		}
		if fault != nil {
			return fault
		}
	}
	ctx.Map.Remove(ctx, folder.Self)
	ctx.Map.RemoveReference(ctx, parent, &parent.ChildEntity, folder.Self)
	return nil
}

// destroyVM destroys a VM within another task.
func destroyVM(ctx *simulator.Context, vm *simulator.VirtualMachine) types.BaseMethodFault {
	var res soap.HasFault
	ctx.WithLock(vm, func() { res = vm.DestroyTask(ctx, &types.Destroy_Task{This: vm.Self}) })
	body, ok := res.(*methods.Destroy_TaskBody)
	if !ok || body.Res == nil {
		return &types.NotSupported{}
	}
	task, ok := ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
	if !ok {
		return &types.NotSupported{}
	}
	task.Wait()
	submissionOf(ctx).waitForFiles()
	if task.Info.Error != nil {
		return task.Info.Error.Fault
	}
	return nil
}

// UnregisterVM removes a VM from the inventory.
func (d *desk) UnregisterVM(ctx *simulator.Context, req *types.UnregisterVM) (res soap.HasFault) {
	ctx.WithLock(treeRef, func() {
		vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
		if !ok {
			res = &methods.UnregisterVMBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
			return
		}
		ctx.WithLock(vm, func() { res = vm.UnregisterVM(ctx, req) })
	})
	return res
}
