package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// MarkAsTemplate converts a VM to a template, and notifies watchers.
func (*desk) MarkAsTemplate(ctx *simulator.Context, req *types.MarkAsTemplate) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.MarkAsTemplateBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	return converted(ctx, vm, func() soap.HasFault { return vm.MarkAsTemplate(req) })
}

// MarkAsVirtualMachine converts a template to a VM, and notifies watchers.
func (*desk) MarkAsVirtualMachine(ctx *simulator.Context, req *types.MarkAsVirtualMachine) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.MarkAsVirtualMachineBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	return converted(ctx, vm, func() soap.HasFault { return vm.MarkAsVirtualMachine(req) })
}

func converted(ctx *simulator.Context, vm *simulator.VirtualMachine, convert func() soap.HasFault) (res soap.HasFault) {
	ctx.WithLock(vm, func() {
		if res = convert(); res.Fault() == nil {
			ctx.Update(vm, []types.PropertyChange{
				{Name: "config.template", Val: vm.Config.Template}, {Name: "summary.config.template", Val: vm.Config.Template},
			})
		}
	})
	return res
}
