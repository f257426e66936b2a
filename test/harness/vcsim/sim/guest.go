package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// checkTools refuses to ask a guest for something when VMware Tools do not run in it. In the simulator they run
// when somebody set guest.toolsRunningStatus: see Operator.Set.
func checkTools(ctx *simulator.Context, ref types.ManagedObjectReference) (fault types.BaseMethodFault) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	ctx.WithLock(vm, func() {
		running := vm.Guest != nil && vm.Guest.ToolsRunningStatus == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		// A VM that is off is refused for that.
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && !running {
			fault = &types.ToolsUnavailable{}
		}
	})
	return fault
}
