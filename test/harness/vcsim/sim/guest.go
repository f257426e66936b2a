package sim

import (
	"context"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Keys of a VM's extraConfig that say how its guest behaves. A clone has them from its template: see Operator.Set and
// Operator.SetTemplate.
const (
	// GuestTools is how long after power-on VMware Tools run, such as "2s". Without it they never do, unless somebody sets
	// guest.toolsRunningStatus.
	GuestTools = "SIM.guest.tools"
	// GuestShutdown is how long the guest takes to shut down once it was asked, such as "1s", or GuestNever. Without it no time at all.
	GuestShutdown = "SIM.guest.shutdown"
	// GuestNever is the GuestShutdown of a guest that ignores the request.
	GuestNever = "never"
)

const (
	toolsRunning    = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	toolsNotRunning = string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning)
)

// checkTools refuses to ask a guest for something when VMware Tools do not run in it.
func checkTools(ctx *simulator.Context, ref types.ManagedObjectReference) (fault types.BaseMethodFault) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	ctx.WithLock(vm, func() {
		running := vm.Guest != nil && vm.Guest.ToolsRunningStatus == toolsRunning
		// A VM that is off is refused for that.
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && !running {
			fault = &types.ToolsUnavailable{}
		}
	})
	return fault
}

// guests has VMware Tools come and go with the power of VMs whose configuration says so.
type guests struct{ mo.ManagedEntity }

// Reference of the handler.
func (*guests) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Guests", Value: "guests"}
}

// PutObject does nothing: a new VM is off.
func (*guests) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject does nothing: a VM that is gone has no guest.
func (*guests) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// UpdateObject sees the power of a VM change. Who changes it holds the VM.
func (*guests) UpdateObject(ctx *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	if o.Reference().Type != "VirtualMachine" {
		return
	}
	for _, c := range changes {
		if c.Name != "runtime.powerState" {
			continue
		}
		vm, ok := ctx.Map.Get(o.Reference()).(*simulator.VirtualMachine)
		if !ok {
			return
		}
		after, err := time.ParseDuration(option(vm, GuestTools))
		if err != nil {
			return
		}
		if c.Val != types.VirtualMachinePowerStatePoweredOn {
			setTools(ctx, vm, toolsNotRunning)
			return
		}
		later(ctx, after, vm, func(ctx *simulator.Context) {
			if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
				setTools(ctx, vm, toolsRunning)
			}
		})
	}
}

func setTools(ctx *simulator.Context, vm *simulator.VirtualMachine, status string) {
	ctx.Update(vm, []types.PropertyChange{{Name: "guest.toolsRunningStatus", Val: status}})
}

// option is a value in the extraConfig of a VM that the caller holds, or empty.
func option(vm *simulator.VirtualMachine, key string) string {
	for _, o := range vm.Config.ExtraConfig {
		if kv := o.GetOptionValue(); kv.Key == key {
			value, _ := kv.Value.(string)
			return value
		}
	}
	return ""
}

// later does something with a VM after a while, on nobody's behalf, unless the VM is gone by then.
func later(ctx *simulator.Context, after time.Duration, vm *simulator.VirtualMachine, do func(*simulator.Context)) {
	own := &simulator.Context{Context: context.Background(), Map: ctx.Map, Session: &simulator.Session{Registry: ctx.Session.Registry, Map: ctx.Session.Map}}
	time.AfterFunc(after, func() {
		own.WithLock(vm, func() {
			if own.Map.Get(vm.Self) != nil {
				do(own)
			}
		})
	})
}

// ShutdownGuest asks a guest, which shuts down as its VM's configuration says. VMware Tools stop when it begins.
func (*desk) ShutdownGuest(ctx *simulator.Context, req *types.ShutdownGuest) (res soap.HasFault) {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.ShutdownGuestBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	ctx.WithLock(vm, func() {
		takes := option(vm, GuestShutdown)
		after, err := time.ParseDuration(takes)
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || takes == "" {
			res = vm.ShutdownGuest(ctx, req)
			return
		}
		res = &methods.ShutdownGuestBody{Res: &types.ShutdownGuestResponse{}}
		post(ctx, &types.VmGuestShutdownEvent{VmEvent: eventOf(ctx, vm)})
		if err != nil {
			return // it ignores the request
		}
		setTools(ctx, vm, toolsNotRunning)
		later(ctx, after, vm, func(ctx *simulator.Context) {
			if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
				off := types.VirtualMachinePowerStatePoweredOff
				ctx.Update(vm, []types.PropertyChange{{Name: "runtime.powerState", Val: off}, {Name: "summary.runtime.powerState", Val: off}})
				post(ctx, &types.VmPoweredOffEvent{VmEvent: eventOf(ctx, vm)})
			}
		})
	})
	return res
}
