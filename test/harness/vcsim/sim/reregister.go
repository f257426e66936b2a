package sim

import (
	"context"
	"fmt"
	"path"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Reregister unregisters a VM and registers it again in a folder. The VM gets a new reference, and keeps the content of its files, such as the instance
// UUID and extraConfig. The simulator's own registration reads no files, so Reregister copies their content to the new VM.
func (o *Operator) Reregister(ctx context.Context, vmPath, folderPath string) (types.ManagedObjectReference, error) {
	var ref types.ManagedObjectReference
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return ref, err
	}
	var files mo.VirtualMachine
	if err := vm.Properties(ctx, vm.Reference(), []string{"name", "config.instanceUuid"}, &files); err != nil {
		return ref, fmt.Errorf("read %s: %w", vmPath, err)
	}
	const meanwhile = "being-registered"
	if ref, err = o.Copy(ctx, vmPath, folderPath, meanwhile); err != nil {
		return ref, err
	}
	if err := vm.Unregister(ctx); err != nil {
		return ref, fmt.Errorf("unregister %s: %w", vmPath, err)
	}
	return ref, o.change(ctx, "register", path.Join(folderPath, meanwhile), func(vm *object.VirtualMachine) (*object.Task, error) {
		return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Name: files.Name, InstanceUuid: files.Config.InstanceUuid})
	})
}
