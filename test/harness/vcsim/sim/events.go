package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// post records an event in the name of whoever the context acts for.
func post(ctx *simulator.Context, event types.BaseEvent) {
	manager := ctx.Map.EventManager()
	ctx.WithLock(manager, func() { manager.PostEvent(ctx, &types.PostEvent{EventToPost: event}) })
}

// eventOf is what events about a VM, which the caller holds, have in common.
func eventOf(ctx *simulator.Context, vm *simulator.VirtualMachine) types.VmEvent {
	event := types.VmEvent{Event: types.Event{Vm: &types.VmEventArgument{
		EntityEventArgument: types.EntityEventArgument{Name: vm.Name}, Vm: vm.Self,
	}}}
	for _, o := range ctx.Map.AllReference("Datacenter") {
		if dc, ok := o.(*simulator.Datacenter); ok {
			event.Datacenter = &types.DatacenterEventArgument{EntityEventArgument: types.EntityEventArgument{Name: dc.Name}, Datacenter: dc.Self}
		}
	}
	return event
}
