package sim

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// FindAllByUuid finds VMs by instance UUID. The simulator's own method ends the call without an answer when it meets one of our objects.
func (d *desk) FindAllByUuid(ctx *simulator.Context, req *types.FindAllByUuid) soap.HasFault { //nolint:revive // the simulator finds it by this name
	if !req.VmSearch || req.InstanceUuid == nil || !*req.InstanceUuid {
		return &methods.FindAllByUuidBody{Fault_: simulator.Fault("", &types.NotSupported{})}
	}
	res := new(types.FindAllByUuidResponse)
	for _, entity := range ctx.Map.All("VirtualMachine") {
		vm, ok := entity.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			if half, making := d.strict.makings.of(vm.Self); making && half.hides("config.instanceUuid") {
				return
			}
			if vm.Config != nil && strings.EqualFold(vm.Config.InstanceUuid, req.Uuid) {
				res.Returnval = append(res.Returnval, vm.Self)
			}
		})
	}
	return &methods.FindAllByUuidBody{Res: res}
}

// FindChild compares names while no task changes the tree, because the simulator reads names without the locks of their objects.
func (*desk) FindChild(ctx *simulator.Context, req *types.FindChild) (res soap.HasFault) {
	index, ok := ctx.Map.Get(req.This).(*simulator.SearchIndex)
	if !ok {
		return &methods.FindChildBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(treeRef, func() { res = index.FindChild(ctx, req) })
	return res
}
