package original

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// UserAgent lets a proxy distinguish the original's calls.
const UserAgent = "codeconnect-original"

// vcenter makes all calls of the original to vCenter.
type vcenter struct {
	finder *find.Finder
	pool   types.ManagedObjectReference
	// root is the inventory path of the folder with the groups' folders. It must exist.
	root string
}

// login logs in, and finds the only datacenter and the only resource pool.
func login(ctx context.Context, rawURL, username, password, root string) (*vcenter, error) {
	u, err := soap.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("parse the vCenter's URL: %w", err)
	}
	transport := soap.NewClient(u, true)
	transport.UserAgent = UserAgent
	client, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return nil, fmt.Errorf("connect to vCenter: %w", err)
	}
	if err := session.NewManager(client).Login(ctx, url.UserPassword(username, password)); err != nil {
		return nil, fmt.Errorf("log in to vCenter: %w", err)
	}
	finder := find.NewFinder(client)
	datacenter, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the datacenter: %w", err)
	}
	finder.SetDatacenter(datacenter)
	pool, err := finder.DefaultResourcePool(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the resource pool: %w", err)
	}
	return &vcenter{finder: finder, pool: pool.Reference(), root: root}, nil
}

func isNotFound(err error) bool {
	var notFound *find.NotFoundError
	return errors.As(err, &notFound)
}

// ensureFolder creates the folder of a group if it is missing.
func (v *vcenter) ensureFolder(ctx context.Context, group string) error {
	_, err := v.finder.Folder(ctx, path.Join(v.root, group))
	if !isNotFound(err) {
		return err
	}
	root, err := v.finder.Folder(ctx, v.root)
	if err != nil {
		return err
	}
	_, err = root.CreateFolder(ctx, group)
	return err
}

// vms lists the VMs in a group's folder. An empty folder is no error.
func (v *vcenter) vms(ctx context.Context, group string) ([]*object.VirtualMachine, error) {
	folder, err := v.finder.Folder(ctx, path.Join(v.root, group))
	if err != nil {
		return nil, err
	}
	vms, err := v.finder.VirtualMachineList(ctx, folder.InventoryPath+"/*")
	if isNotFound(err) {
		return nil, nil
	}
	return vms, err
}

// shape of a new VM.
type shape struct {
	template       string
	cpu, memoryGiB int32
}

// clone clones a VM, which vCenter powers on, and waits for it.
func (v *vcenter) clone(ctx context.Context, group, name string, s shape) error {
	template, err := v.finder.VirtualMachine(ctx, s.template)
	if err != nil {
		return fmt.Errorf("find template %s: %w", s.template, err)
	}
	folder, err := v.finder.Folder(ctx, path.Join(v.root, group))
	if err != nil {
		return fmt.Errorf("find the folder of %s: %w", name, err)
	}
	task, err := template.Clone(ctx, folder, name, types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &v.pool},
		Config:   &types.VirtualMachineConfigSpec{NumCPUs: s.cpu, MemoryMB: 1024 * int64(s.memoryGiB)},
		PowerOn:  true,
	})
	return wait(ctx, "clone "+name, task, err)
}

// powerOn powers a VM on if it is off.
func (v *vcenter) powerOn(ctx context.Context, vm *object.VirtualMachine) error {
	task, err := vm.PowerOn(ctx)
	return wait(ctx, "power on "+vm.Name(), task, err)
}

// destroy powers off a VM, ignoring errors, and destroys it.
func (v *vcenter) destroy(ctx context.Context, vm *object.VirtualMachine) error {
	if task, err := vm.PowerOff(ctx); err == nil {
		_ = task.Wait(ctx)
	}
	task, err := vm.Destroy(ctx)
	return ignoreGone(wait(ctx, "destroy "+vm.Name(), task, err))
}

// destroyFolder destroys the folder of a group.
func (v *vcenter) destroyFolder(ctx context.Context, group string) error {
	folder, err := v.finder.Folder(ctx, path.Join(v.root, group))
	if err != nil {
		return err
	}
	task, err := folder.Destroy(ctx)
	return ignoreGone(wait(ctx, "destroy the folder of "+group, task, err))
}

func wait(ctx context.Context, what string, task *object.Task, err error) error {
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func ignoreGone(err error) error {
	if fault.Is(err, &types.ManagedObjectNotFound{}) {
		return nil
	}
	return err
}
