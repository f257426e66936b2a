package govmomi

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// neededPrivileges are those that the operator uses on its root folder. What it needs on templates, pools,
// datastores and networks is told by the errors of the clone itself. What only some groups need is not among them: a vCenter without it is of use to all
// others, and those groups are told by the errors of their calls. docs/vcenter.md has such privileges in paragraphs of their own.
var neededPrivileges = []string{
	"Folder.Create",
	"Folder.Delete",
	"VirtualMachine.Config.AddNewDisk",
	"VirtualMachine.Config.AdvancedConfig",
	"VirtualMachine.Config.CPUCount",
	"VirtualMachine.Config.Memory",
	"VirtualMachine.Config.Settings",
	"VirtualMachine.Interact.PowerOff",
	"VirtualMachine.Interact.PowerOn",
	"VirtualMachine.Inventory.CreateFromExisting",
	"VirtualMachine.Inventory.Delete",
}

// changePrivileges are those that changes of VMs need. Groups are told of them before a VM is stopped to be changed.
var changePrivileges = []string{vsphere.PrivilegeExtraConfig, vsphere.PrivilegeCPUs, vsphere.PrivilegeDevices, vsphere.PrivilegeMemory}

// missingPrivileges returns what the account lacks on the root folder, sorted: of what the operator needs there, and of what changes of VMs need. A server
// that does not answer the question is taken to grant all: the first refused call will tell.
func missingPrivileges(ctx context.Context, c *connection) (needed, forChanges []string) {
	manager := c.client.ServiceContent.AuthorizationManager
	if manager == nil {
		return nil, nil
	}
	resp, err := methods.FetchUserPrivilegeOnEntities(ctx, c.client, &types.FetchUserPrivilegeOnEntities{
		This: *manager, Entities: []types.ManagedObjectReference{toRef(c.root.Ref)}, UserName: c.session.User(),
	})
	if err != nil || len(resp.Returnval) == 0 {
		return nil, nil
	}
	lacking := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(resp.Returnval[0].Privileges, p) })
	}
	return lacking(neededPrivileges), lacking(changePrivileges)
}
