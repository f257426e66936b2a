package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// checkClone checks the objects that a clone refers to.
func checkClone(ctx *simulator.Context, req *types.CloneVM_Task) types.BaseMethodFault {
	if f := req.Spec.Location.Folder; f != nil {
		req.Folder = *f // "takes precedence over the folder parameter"
	}
	location := req.Spec.Location
	for _, ref := range []*types.ManagedObjectReference{
		&req.Folder, location.Pool, location.Datastore, location.Host, req.Spec.Snapshot,
	} {
		if ref != nil && ctx.Map.Get(*ref) == nil {
			return &types.ManagedObjectNotFound{Obj: *ref}
		}
	}
	if s := req.Spec.Snapshot; s != nil {
		if snapshot, ok := ctx.Map.Get(*s).(*simulator.VirtualMachineSnapshot); !ok || snapshot.Vm != req.This {
			return &types.InvalidArgument{InvalidProperty: "spec.snapshot"}
		}
	} else if location.DiskMoveType == string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking) {
		// "only valid when cloning from a snapshot"
		return &types.InvalidArgument{InvalidProperty: "spec.location.diskMoveType"}
	}
	if fault := checkName(req.Name); fault != nil {
		return fault
	}
	if fault := checkTPM(ctx, req); fault != nil {
		return fault
	}
	return checkSizes(req.Spec.Config)
}

// CloneVMTask clones a VM or template.
func (d *desk) CloneVMTask(ctx *simulator.Context, req *types.CloneVM_Task) soap.HasFault {
	source, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.CloneVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	if req.Spec.Config == nil {
		req.Spec.Config = &types.VirtualMachineConfigSpec{}
	}
	chooseHost(ctx, source, req)
	s := &submission{entity: req.This, cancelable: true, delay: d.strict.cloneDelay}
	course := d.strict.course(req.Name)
	s.until = course.Until
	if !d.hold(s, req.Folder, req.Name) && course.Shows != Unseen {
		s.rest = d.finish(ctx, s, course)
	}
	s.around = func(t *simulator.Task, run execute) (res types.AnyType, fault types.BaseMethodFault) {
		if s.rest == nil && canceled(ctx, t) {
			return nil, &types.RequestCanceled{}
		}
		if s.rest == nil && course.Fails {
			return nil, diskFault()
		}
		// Objects can have been removed since the request.
		if fault := checkClone(ctx, req); fault != nil {
			return nil, fault
		}
		folder, ok := folderAt(ctx, &req.Folder)
		if !ok {
			return nil, &types.InvalidFolder{Target: req.Folder}
		}
		if fault := d.strict.unborn.check(req.Folder, req.Name); fault != nil {
			return nil, fault
		}
		if fault := checkFree(ctx, folder, req.Name, types.ManagedObjectReference{}); fault != nil {
			return nil, fault
		}
		if fault := checkPlacement(ctx, source, req); fault != nil {
			return nil, fault
		}
		cloned := hardwareOf(ctx, source, req.Spec.Snapshot)
		if fault := checkHardware(cloned, req.Spec.Config); fault != nil {
			return nil, fault
		}
		grown, fault := takeGrowth(cloned, req)
		if fault != nil {
			return nil, fault
		}
		inherit(source, cloned, req.Spec.Config)
		req.Spec.Config.InstanceUuid = d.strict.uuids.reserve(req.Spec.Config.InstanceUuid)
		ctx.WithLock(folder, func() { res, fault = run(t) })
		d.strict.uuids.assign(req.Spec.Config.InstanceUuid, res)
		if fault != nil {
			return res, fault
		}
		if ref, ok := res.(types.ManagedObjectReference); ok {
			ctx.WithLock(ref, func() {
				complete(ctx, ref, req.Spec.Config, req.Spec.Snapshot)
				inheritVApp(ctx, source, ref, req.Spec.Config)
				if clone, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok {
					ownDevices(source, clone, req)
					cloneDisks(source, clone, req, grown)
				}
			})
			if s.rest != nil {
				d.strict.makings.begin(ref, course.Shows, t.Self) // before other clients can read the VM
			}
		}
		return res, nil
	}
	return structural(ctx, s, func() soap.HasFault { return source.CloneVMTask(ctx, req) })
}

// CreateVMTask creates a VM from nothing.
func (d *desk) CreateVMTask(ctx *simulator.Context, req *types.CreateVM_Task) soap.HasFault {
	folder, ok := folderAt(ctx, &req.This)
	if !ok {
		return &methods.CreateVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	s := &submission{entity: req.This}
	s.around = func(t *simulator.Task, run execute) (types.AnyType, types.BaseMethodFault) {
		if fault := checkName(req.Config.Name); fault != nil {
			return nil, fault
		}
		if fault := checkFree(ctx, folder, req.Config.Name, types.ManagedObjectReference{}); fault != nil {
			return nil, fault
		}
		req.Config.InstanceUuid = d.strict.uuids.reserve(req.Config.InstanceUuid)
		res, fault := run(t)
		d.strict.uuids.assign(req.Config.InstanceUuid, res)
		return res, fault
	}
	return structural(ctx, s, func() soap.HasFault { return folder.CreateVMTask(ctx, req) })
}
