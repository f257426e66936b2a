package govmomi

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// neededPrivileges are those that the operator uses on its root folder. What it needs on templates, pools,
// datastores and networks is told by the errors of the clone itself. What only some groups need is not among them: a vCenter without it is of use to all
// others, and those groups are told by the errors of their calls. docs/vcenter.md has such privileges in paragraphs of their own.
var neededPrivileges = []string{
	"Folder.Create",
	"Folder.Delete",
	"VirtualMachine.Config.AdvancedConfig",
	"VirtualMachine.Config.CPUCount",
	"VirtualMachine.Config.Memory",
	"VirtualMachine.Config.Settings",
	"VirtualMachine.Interact.PowerOff",
	"VirtualMachine.Interact.PowerOn",
	"VirtualMachine.Inventory.CreateFromExisting",
	"VirtualMachine.Inventory.Delete",
}

// missingPrivileges returns what the account lacks on the root folder, sorted. A server that does not answer the
// question is taken to grant all: the first refused call will tell.
func missingPrivileges(ctx context.Context, c *connection) []string {
	manager := c.client.ServiceContent.AuthorizationManager
	if manager == nil {
		return nil
	}
	resp, err := methods.FetchUserPrivilegeOnEntities(ctx, c.client, &types.FetchUserPrivilegeOnEntities{
		This: *manager, Entities: []types.ManagedObjectReference{toRef(c.root.Ref)}, UserName: c.session.User(),
	})
	if err != nil || len(resp.Returnval) == 0 {
		return nil
	}
	var missing []string
	for _, p := range neededPrivileges {
		if !slices.Contains(resp.Returnval[0].Privileges, p) {
			missing = append(missing, p)
		}
	}
	return missing
}
