package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CreateContainerView walks the inventory while no other call can change its shape, because the simulator reads the lists of children
// without their locks.
func (*desk) CreateContainerView(ctx *simulator.Context, req *types.CreateContainerView) (res soap.HasFault) {
	manager, ok := ctx.Map.Get(req.This).(*simulator.ViewManager)
	if !ok {
		return &methods.CreateContainerViewBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(treeRef, func() {
		ctx.WithLock(manager, func() { res = manager.CreateContainerView(ctx, req) })
	})
	return res
}
