package sim

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// mostCPUs and mostMemoryMB are the limits of a VM in vSphere 8 (configmax.broadcom.com).
	mostCPUs     = 768
	mostMemoryMB = 24 << 20
	// memoryStepMB divides the memory size of every VM.
	memoryStepMB = 4
	// hotPlugFactor limits the growth of a running VM's memory, and hotPlugStepMB divides each increase.
	hotPlugFactor = 16
	hotPlugStepMB = 128
)

// checkSizes refuses sizes that no VM can have.
func checkSizes(spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	switch {
	case spec == nil:
	case spec.NumCPUs < 0 || spec.NumCPUs > mostCPUs:
		return &types.InvalidArgument{InvalidProperty: "configSpec.numCPUs"}
	case spec.MemoryMB < 0 || spec.MemoryMB > mostMemoryMB || spec.MemoryMB%memoryStepMB != 0:
		return &types.InvalidArgument{InvalidProperty: "configSpec.memoryMB"}
	}
	return nil
}

// ReconfigVMTask changes a VM's configuration, if its change version matches the request.
func (d *desk) ReconfigVMTask(ctx *simulator.Context, req *types.ReconfigVM_Task) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.ReconfigVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	s := &submission{entity: req.This}
	s.around = func(t *simulator.Task, work execute) (types.AnyType, types.BaseMethodFault) {
		if v := req.Spec.ChangeVersion; v != "" && v != vm.Config.ChangeVersion {
			return nil, &types.ConcurrentAccess{}
		}
		if fault := checkHotPlug(vm, &req.Spec); fault != nil {
			return nil, fault
		}
		if fault := checkGrowth(vm, &req.Spec); fault != nil {
			return nil, fault
		}
		if fault := placeDisks(vm.Config.Hardware.Device, req.Spec.DeviceChange); fault != nil {
			return nil, fault
		}
		if fault := checkSockets(vm.Config.Hardware, &req.Spec); fault != nil {
			return nil, fault
		}
		if name := req.Spec.Name; name != "" && name != vm.Name {
			if fault := checkRename(ctx, vm, name); fault != nil {
				return nil, fault
			}
		}
		req.Spec.ChangeVersion = ""
		dropEmptyOptions(vm, &req.Spec)
		old, wanted := vm.Config.InstanceUuid, req.Spec.InstanceUuid
		extra := req.Spec.ExtraConfig
		run := func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
			res, fault := work(t)
			if fault == nil {
				setHotPlug(ctx, vm)
				dropVApp(vm, &req.Spec)
				showDisabled(ctx, vm, extra)
				d.strict.guests.writes(ctx, vm, extra)
			}
			return res, fault
		}
		if wanted == "" || strings.EqualFold(wanted, old) {
			return run(t)
		}
		req.Spec.InstanceUuid = d.strict.uuids.reserve(wanted)
		res, fault := run(t)
		d.strict.uuids.assign(vm.Config.InstanceUuid, vm.Self)
		d.strict.uuids.assign(old, nil)
		return res, fault
	}
	start := func() soap.HasFault { return vm.ReconfigVMTask(ctx, req) }
	if req.Spec.Name != "" {
		return structural(ctx, s, start)
	}
	return started(ctx, s, start)
}

// dropEmptyOptions omits removals of missing keys, because the simulator would add these keys without a value.
func dropEmptyOptions(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) {
	spec.ExtraConfig = slices.DeleteFunc(spec.ExtraConfig, func(o types.BaseOptionValue) bool {
		return o.GetOptionValue().Value == "" && !slices.ContainsFunc(vm.Config.ExtraConfig, func(has types.BaseOptionValue) bool {
			return has.GetOptionValue().Key == o.GetOptionValue().Key
		})
	})
}

// checkHotPlug refuses changes that a VM cannot accept unless it is off. The caller holds the VM.
func checkHotPlug(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	state, has := vm.Runtime.PowerState, vm.Config
	if state == types.VirtualMachinePowerStatePoweredOff {
		return nil
	}
	on := func(flag *bool) bool {
		return flag != nil && *flag && state == types.VirtualMachinePowerStatePoweredOn
	}
	toggles := func(now, wanted *bool) bool { return wanted != nil && *wanted != (now != nil && *now) }
	cores := spec.NumCoresPerSocket
	switch {
	case toggles(has.CpuHotAddEnabled, spec.CpuHotAddEnabled),
		toggles(has.CpuHotRemoveEnabled, spec.CpuHotRemoveEnabled),
		toggles(has.MemoryHotAddEnabled, spec.MemoryHotAddEnabled),
		cores != nil && has.Hardware.NumCoresPerSocket != nil && *cores != *has.Hardware.NumCoresPerSocket:
		// "This attribute can only be set when the virtual machine is powered-off."
		return &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOff, ExistingState: state}
	case spec.NumCPUs > has.Hardware.NumCPU && !on(has.CpuHotAddEnabled),
		spec.NumCPUs != 0 && spec.NumCPUs < has.Hardware.NumCPU && !on(has.CpuHotRemoveEnabled):
		return &types.CpuHotPlugNotSupported{}
	case spec.MemoryMB > int64(has.Hardware.MemoryMB) && !on(has.MemoryHotAddEnabled),
		spec.MemoryMB != 0 && spec.MemoryMB < int64(has.Hardware.MemoryMB),
		spec.MemoryMB > int64(has.Hardware.MemoryMB) && spec.MemoryMB > has.HotPlugMemoryLimit,
		spec.MemoryMB > int64(has.Hardware.MemoryMB) && (spec.MemoryMB-int64(has.Hardware.MemoryMB))%has.HotPlugMemoryIncrementSize != 0:
		return &types.MemoryHotPlugNotSupported{}
	}
	return nil
}

// checkSockets refuses a number of CPUs that does not fill its sockets.
func checkSockets(has types.VirtualHardware, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	cpus, cores := has.NumCPU, int32(1)
	if spec.NumCPUs != 0 {
		cpus = spec.NumCPUs
	}
	for _, n := range []*int32{has.NumCoresPerSocket, spec.NumCoresPerSocket} {
		if n != nil && *n > 0 {
			cores = *n
		}
	}
	if cpus%cores != 0 {
		return &types.InvalidArgument{InvalidProperty: "configSpec.numCPUs"}
	}
	return nil
}

// setHotPlug sets the limit and step of memory hot-add, which depend on the memory size when the VM was last off. The caller holds the VM.
func setHotPlug(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		return
	}
	var limit, step int64
	if on := vm.Config.MemoryHotAddEnabled; on != nil && *on {
		limit, step = hotPlugFactor*int64(vm.Config.Hardware.MemoryMB), hotPlugStepMB
	}
	ctx.Update(vm, []types.PropertyChange{{Name: "config.hotPlugMemoryLimit", Val: limit}, {Name: "config.hotPlugMemoryIncrementSize", Val: step}})
}
