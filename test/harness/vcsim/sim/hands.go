package sim

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Sessions lists all other logins.
func (o *Operator) Sessions(ctx context.Context) ([]types.UserSession, error) { return o.sessions(ctx) }

// Running counts the unfinished tasks of the last minutes.
func (o *Operator) Running(ctx context.Context) (n int, err error) {
	pc := property.DefaultCollector(o.Client())
	var manager mo.TaskManager
	if err := pc.RetrieveOne(ctx, *o.Client().ServiceContent.TaskManager, []string{"recentTask"}, &manager); err != nil {
		return 0, fmt.Errorf("list recent tasks: %w", err)
	}
	for _, ref := range manager.RecentTask {
		var task mo.Task
		if err := pc.RetrieveOne(ctx, ref, []string{"info.state"}, &task); err != nil {
			return 0, fmt.Errorf("read task %s: %w", ref.Value, err)
		}
		if task.Info.State == types.TaskInfoStateQueued || task.Info.State == types.TaskInfoStateRunning {
			n++
		}
	}
	return n, nil
}

// CreateFolders creates a folder and its missing parents.
func (o *Operator) CreateFolders(ctx context.Context, folderPath string) error {
	if _, err := o.folder(ctx, folderPath); err == nil {
		return nil
	}
	parent, name := path.Split(folderPath)
	if err := o.CreateFolders(ctx, strings.TrimSuffix(parent, "/")); err != nil {
		return err
	}
	f, err := o.folder(ctx, strings.TrimSuffix(parent, "/"))
	if err != nil {
		return err
	}
	if _, err := f.CreateFolder(ctx, name); err != nil && !fault.Is(err, &types.DuplicateName{}) {
		return fmt.Errorf("create folder %s: %w", folderPath, err)
	}
	return nil
}

// MarkAsTemplate converts a powered-off VM to a template.
func (o *Operator) MarkAsTemplate(ctx context.Context, vmPath string) error {
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return err
	}
	if err := vm.MarkAsTemplate(ctx); err != nil {
		return fmt.Errorf("mark %s as template: %w", vmPath, err)
	}
	return nil
}

// MarkAsVM converts a template to a VM.
func (o *Operator) MarkAsVM(ctx context.Context, vmPath string) error {
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return err
	}
	pool, err := o.finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	if err != nil {
		return fmt.Errorf("find the resource pool: %w", err)
	}
	if err := vm.MarkAsVirtualMachine(ctx, *pool, nil); err != nil {
		return fmt.Errorf("convert %s to a VM: %w", vmPath, err)
	}
	return nil
}

// ShutdownGuest asks the guest of a VM to shut down.
func (o *Operator) ShutdownGuest(ctx context.Context, vmPath string) error {
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return err
	}
	if err := vm.ShutdownGuest(ctx); err != nil {
		return fmt.Errorf("shut down the guest of %s: %w", vmPath, err)
	}
	return nil
}

// SetTemplate writes extraConfig keys of a template, which its clones inherit.
func (o *Operator) SetTemplate(ctx context.Context, path string, extra map[string]string) error {
	if err := o.MarkAsVM(ctx, path); err != nil {
		return err
	}
	if err := o.Set(ctx, path, extra); err != nil {
		return err
	}
	return o.MarkAsTemplate(ctx, path)
}

// Folders returns the paths of the folders below a folder.
func (o *Operator) Folders(ctx context.Context, below string) ([]string, error) {
	f, err := o.folder(ctx, below)
	if err != nil {
		return nil, err
	}
	children, err := f.Children(ctx)
	if err != nil {
		return nil, fmt.Errorf("list folder %s: %w", below, err)
	}
	var paths []string
	for _, child := range children {
		inner, ok := child.(*object.Folder)
		if !ok {
			continue
		}
		name, err := inner.ObjectName(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the name of a folder in %s: %w", below, err)
		}
		deeper, err := o.Folders(ctx, below+"/"+name)
		if err != nil {
			return nil, err
		}
		paths = append(append(paths, below+"/"+name), deeper...)
	}
	return paths, nil
}

// RemoveAll destroys the VMs below a folder, whatever their power state, and the folder. A missing folder is no error.
func (o *Operator) RemoveAll(ctx context.Context, folderPath string) error {
	vms, err := o.VMs(ctx)
	if err != nil {
		return err
	}
	for vmPath := range vms {
		if strings.HasPrefix(vmPath, folderPath+"/") {
			if err := o.Destroy(ctx, vmPath); err != nil {
				return err
			}
		}
	}
	f, err := o.folder(ctx, folderPath)
	if err != nil {
		return nil //nolint:nilerr // there is nothing to remove
	}
	return o.removeFolder(ctx, f)
}

// removeFolder destroys a folder that contains only folders, bottom up.
func (o *Operator) removeFolder(ctx context.Context, f *object.Folder) error {
	children, err := f.Children(ctx)
	if err != nil {
		return fmt.Errorf("list folder %s: %w", f.InventoryPath, err)
	}
	for _, child := range children {
		if inner, ok := child.(*object.Folder); ok {
			if err := o.removeFolder(ctx, inner); err != nil {
				return err
			}
		}
	}
	task, err := f.Destroy(ctx)
	return wait(ctx, "destroy folder "+f.InventoryPath, task, err)
}

// AllowHotAdd enables hot-add of CPUs and memory for a powered-off VM.
func (o *Operator) AllowHotAdd(ctx context.Context, vmPath string) error {
	spec := types.VirtualMachineConfigSpec{CpuHotAddEnabled: types.NewBool(true), MemoryHotAddEnabled: types.NewBool(true)}
	return o.change(ctx, "allow hot add for", vmPath, func(vm *object.VirtualMachine) (*object.Task, error) { return vm.Reconfigure(ctx, spec) })
}

// Adapter returns the network and the address of a VM's first network adapter.
func (o *Operator) Adapter(ctx context.Context, vmPath string) (network types.ManagedObjectReference, mac string, err error) {
	_, devices, err := o.devices(ctx, vmPath)
	if err != nil {
		return network, "", err
	}
	for _, d := range devices {
		card, ok := d.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		nic := card.GetVirtualEthernetCard()
		switch backing := nic.Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			network = *backing.Network
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			network = types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}
		}
		return network, nic.MacAddress, nil
	}
	return network, "", fmt.Errorf("%s has no network adapter", vmPath)
}
