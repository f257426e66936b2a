// Package eye reads the VMs in vCenter for measurements, independently of an operator's status. It calls the simulator directly, not
// through the proxy, with one small request.
package eye

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Eye is a view of all VMs of a vCenter. It ends with the session of its client.
type Eye struct {
	view *view.ContainerView
}

// Open makes the view.
func Open(ctx context.Context, client *vim25.Client) (*Eye, error) {
	v, err := view.NewManager(client).CreateContainerView(ctx, client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, fmt.Errorf("make a view of all VMs: %w", err)
	}
	return &Eye{v}, nil
}

// VM is one VM.
type VM struct {
	Name string
	On   bool
}

// VMs lists all VMs, by managed object reference.
func (e *Eye) VMs(ctx context.Context) (map[string]VM, error) {
	var found []mo.VirtualMachine
	if err := e.view.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name", "runtime.powerState"}, &found); err != nil {
		return nil, fmt.Errorf("list all VMs: %w", err)
	}
	vms := make(map[string]VM, len(found))
	for i := range found {
		vms[found[i].Self.Value] = VM{found[i].Name, found[i].Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn}
	}
	return vms, nil
}
