package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CreateFolder checks the name while no other call can create an object.
func (d *desk) CreateFolder(ctx *simulator.Context, req *types.CreateFolder) (res soap.HasFault) {
	ctx.WithLock(treeRef, func() {
		parent, ok := folderAt(ctx, &req.This)
		fault := types.BaseMethodFault(&types.ManagedObjectNotFound{Obj: req.This})
		if ok {
			if fault = checkName(req.Name); fault == nil {
				fault = checkFree(ctx, parent, req.Name, types.ManagedObjectReference{})
			}
		}
		if fault != nil {
			res = &methods.CreateFolderBody{Fault_: simulator.Fault("", fault)}
			return
		}
		ctx.WithLock(parent, func() { res = parent.CreateFolder(ctx, req) })
	})
	return res
}

// MoveIntoFolderTask moves the listed objects in order, and stops at the first that cannot be moved.
func (d *desk) MoveIntoFolderTask(ctx *simulator.Context, req *types.MoveIntoFolder_Task) soap.HasFault {
	folder, ok := folderAt(ctx, &req.This)
	if !ok {
		return &methods.MoveIntoFolder_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	s := &submission{entity: req.This}
	s.around = func(t *simulator.Task, run execute) (types.AnyType, types.BaseMethodFault) {
		list := req.List
		for _, ref := range list {
			e, ok := ctx.Map.Get(ref).(mo.Entity)
			if !ok {
				return nil, &types.ManagedObjectNotFound{Obj: ref}
			}
			if inside(ctx, folder, ref) {
				return nil, &types.InvalidFolder{Target: req.This}
			}
			if fault := checkFree(ctx, folder, e.Entity().Name, ref); fault != nil {
				return nil, fault
			}
			req.List = []types.ManagedObjectReference{ref}
			if _, fault := run(t); fault != nil {
				return nil, fault
			}
		}
		post(ctx, moveEvent(ctx, t, req.This))
		return nil, nil
	}
	return structural(ctx, s, func() soap.HasFault { return folder.MoveIntoFolderTask(ctx, req) })
}

// inside reports whether a folder is the object or is below it.
func inside(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) bool {
	for ok := true; ok; folder, ok = folderAt(ctx, folder.Parent) {
		if folder.Self == ref {
			return true
		}
	}
	return false
}

// RenameTask checks the name within the parent folder.
func (d *desk) RenameTask(ctx *simulator.Context, req *types.Rename_Task) soap.HasFault {
	e, ok := ctx.Map.Get(req.This).(interface {
		mo.Entity
		RenameTask(*simulator.Context, *types.Rename_Task) soap.HasFault
	})
	if !ok {
		return &methods.Rename_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	s := &submission{entity: req.This}
	s.around = func(t *simulator.Task, run execute) (types.AnyType, types.BaseMethodFault) {
		if fault := checkRename(ctx, e, req.NewName); fault != nil {
			return nil, fault
		}
		if e.Entity().Name == req.NewName {
			return nil, nil // otherwise the simulator would find the object itself as a duplicate
		}
		old := e.Entity().Name
		res, fault := run(t)
		if vm, ok := e.(*simulator.VirtualMachine); ok && fault == nil {
			post(ctx, &types.VmRenamedEvent{VmEvent: eventOf(ctx, vm), OldName: old, NewName: req.NewName})
		}
		return res, fault
	}
	return structural(ctx, s, func() soap.HasFault { return e.RenameTask(ctx, req) })
}

func checkRename(ctx *simulator.Context, e mo.Entity, name string) types.BaseMethodFault {
	if fault := checkName(name); fault != nil {
		return fault
	}
	if parent, ok := folderAt(ctx, e.Entity().Parent); ok {
		return checkFree(ctx, parent, name, e.Reference())
	}
	return nil
}
