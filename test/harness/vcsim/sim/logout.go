package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Logout destroys the views of the session before it ends the session. The simulator's own logout keeps the session's registry locked while
// it waits for views. A read that uses a view waits for the registry, so neither ends.
func (d *desk) Logout(ctx *simulator.Context, req *types.Logout) (res soap.HasFault) {
	for _, ref := range ctx.Session.AllReference("ContainerView") {
		view, ok := ref.(*simulator.ContainerView)
		if !ok {
			continue
		}
		ctx.WithLock(view, func() { view.DestroyView(ctx, &types.DestroyView{This: view.Self}) })
	}
	manager, ok := ctx.Session.Get(req.This).(*simulator.SessionManager)
	if !ok {
		return &methods.LogoutBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(manager, func() { res = manager.Logout(ctx, req) })
	return res
}
