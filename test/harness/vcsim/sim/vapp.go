package sim

import (
	"context"
	"maps"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// inheritVApp copies the vApp properties of the source to a clone, unless the request removes them. The caller holds both.
func inheritVApp(ctx *simulator.Context, source *simulator.VirtualMachine, ref types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok || source.Config.VAppConfig == nil || removesVApp(spec) {
		return
	}
	info := *source.Config.VAppConfig.GetVmConfigInfo()
	vm.Config.VAppConfig = &info
}

// dropVApp removes the vApp properties of a VM if a reconfiguration requests that. The caller holds the VM.
func dropVApp(vm *simulator.VirtualMachine, spec *types.VirtualMachineConfigSpec) {
	if removesVApp(spec) {
		vm.Config.VAppConfig = nil
	}
}

func removesVApp(spec *types.VirtualMachineConfigSpec) bool {
	return spec.VAppConfigRemoved != nil && *spec.VAppConfigRemoved
}

// FromOVA gives a template vApp properties, as if it was deployed from an OVA.
func (o *Operator) FromOVA(ctx context.Context, path string, properties map[string]string) error {
	if err := o.MarkAsVM(ctx, path); err != nil {
		return err
	}
	config := &types.VmConfigSpec{OvfEnvironmentTransport: []string{"com.vmware.guestInfo"}}
	for i, key := range slices.Sorted(maps.Keys(properties)) {
		config.Property = append(config.Property, types.VAppPropertySpec{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info:            &types.VAppPropertyInfo{Key: int32(i), Id: key, Type: "string", Value: properties[key], UserConfigurable: types.NewBool(true)},
		})
	}
	spec := types.VirtualMachineConfigSpec{VAppConfig: config}
	if err := o.change(ctx, "reconfigure", path, func(vm *object.VirtualMachine) (*object.Task, error) { return vm.Reconfigure(ctx, spec) }); err != nil {
		return err
	}
	return o.MarkAsTemplate(ctx, path)
}
