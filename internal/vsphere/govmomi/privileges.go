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

// privileges are what the account has on the root folder.
type privileges struct {
	// missing is what the operator needs there, and lacks what changes of VMs need, and the account does not have, sorted.
	missing, lacks []string
	// notes is true if it may write notes into VMs.
	notes bool
}

// readPrivileges asks what the account has on the root folder. A server that does not answer the question is taken to grant all that is needed: the first
// refused call will tell.
func readPrivileges(ctx context.Context, c *connection) (p privileges) {
	manager := c.client.ServiceContent.AuthorizationManager
	if manager == nil {
		return p
	}
	resp, err := methods.FetchUserPrivilegeOnEntities(ctx, c.client, &types.FetchUserPrivilegeOnEntities{
		This: *manager, Entities: []types.ManagedObjectReference{toRef(c.root.Ref)}, UserName: c.session.User(),
	})
	if err != nil || len(resp.Returnval) == 0 {
		return p
	}
	has := resp.Returnval[0].Privileges
	lacking := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(has, p) })
	}
	return privileges{missing: lacking(neededPrivileges), lacks: lacking(changePrivileges), notes: slices.Contains(has, vsphere.PrivilegeNotes)}
}
