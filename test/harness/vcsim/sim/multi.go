package sim

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// PowerOnMultiVMTask places VMs, and then powers on each with a separate task.
func (d *desk) PowerOnMultiVMTask(ctx *simulator.Context, req *types.PowerOnMultiVM_Task) soap.HasFault {
	dc, ok := ctx.Map.Get(req.This).(*simulator.Datacenter)
	if !ok {
		return &methods.PowerOnMultiVM_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	s := &submission{entity: req.This}
	if d.strict.drs.hold != nil {
		s.until = d.strict.drs.hold()
	}
	return structural(ctx, s, func() soap.HasFault {
		task := simulator.CreateTask(dc, "powerOnVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
			var result types.ClusterPowerOnVmResult
			for _, ref := range req.Vm {
				d.powerOnPlaced(ctx, ref, automation(req.Option), &result)
			}
			return result, nil
		})
		return &methods.PowerOnMultiVM_TaskBody{Res: &types.PowerOnMultiVM_TaskResponse{Returnval: task.Run(ctx)}}
	})
}

// automation returns the automation level in the options, which overrides that of the cluster, or "" if there is none.
func automation(options []types.BaseOptionValue) (mode DRS) {
	for _, o := range options {
		if v := o.GetOptionValue(); v.Key == string(types.ClusterPowerOnVmOptionOverrideAutomationLevel) {
			switch value := v.Value.(type) {
			case string:
				mode = DRS(value)
			case types.DrsBehavior:
				mode = DRS(value)
			}
		}
	}
	return mode
}

// powerOnPlaced places one VM and starts the task that powers it on.
func (d *desk) powerOnPlaced(ctx *simulator.Context, ref types.ManagedObjectReference, override DRS, result *types.ClusterPowerOnVmResult) {
	refuse := func(fault types.BaseMethodFault) {
		result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{
			Vm: ref, Fault: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: fmt.Sprintf("%T", fault)},
		})
	}
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		refuse(&types.ManagedObjectNotFound{Obj: ref})
		return
	}
	// Contexts own locks, and this context holds the datacenter.
	own := &simulator.Context{Context: ctx.Context, Session: ctx.Session, Map: ctx.Map}
	req := &types.PowerOnVM_Task{This: ref}
	if fault := d.strict.refuse(own, &simulator.Method{Name: "PowerOnVM_Task", This: ref, Body: req}); fault != nil {
		refuse(fault)
		return
	}
	var mode DRS
	var fault types.BaseMethodFault
	own.WithLock(vm, func() { mode, fault = d.strict.drs.prepare(own, vm, override) })
	switch {
	case fault != nil:
		refuse(fault)
		return
	case mode == DRSManual:
		result.Recommendations = append(result.Recommendations, types.ClusterRecommendation{
			Key: ref.Value, Type: "V1", Time: time.Now(), Rating: 5, Reason: "powerOnVm", ReasonText: "Power on virtual machine", Target: &ref,
		})
		return
	}
	s := &submission{entity: ref, placed: true, description: "Datacenter.ExecuteVmPowerOnLRO"}
	if mode.places() {
		s.system, s.description = true, "Drm.ExecuteVmPowerOnLRO"
	}
	body, ok := d.powerOn(own, req, s).(*methods.PowerOnVM_TaskBody)
	switch {
	case !ok:
		refuse(&types.SystemError{})
	case body.Fault_ != nil:
		refuse(vimFault(body.Fault_))
	case mode.places() && d.strict.drs.unnamed:
		result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: ref})
	default:
		result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: ref, Task: &body.Res.Returnval})
	}
}

func vimFault(f *soap.Fault) types.BaseMethodFault {
	if fault, ok := f.VimFault().(types.BaseMethodFault); ok {
		return fault
	}
	return &types.SystemError{}
}

// prepare checks whether a VM can be powered on, and places it if DRS does. The caller holds the VM.
func (d *drs) prepare(ctx *simulator.Context, vm *simulator.VirtualMachine, override DRS) (mode DRS, fault types.BaseMethodFault) {
	switch state := vm.Runtime.PowerState; {
	case vm.Config.Template:
		return mode, &types.InvalidState{}
	case state == types.VirtualMachinePowerStatePoweredOn:
		return mode, &types.InvalidPowerState{RequestedState: state, ExistingState: state}
	}
	cluster := clusterOf(ctx, vm)
	if fault := d.admit(vm, cluster); fault != nil || cluster == nil {
		return mode, fault
	}
	if mode = d.mode(cluster.Self); mode != DRSOff && override != "" {
		mode = override
	}
	if mode.places() {
		fault = d.place(ctx, vm, cluster)
	}
	return mode, fault
}
