package sim

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// AdminUsername and AdminPassword log a person in who may do everything, unless Options say otherwise.
const (
	AdminUsername = "administrator@vsphere.local"
	AdminPassword = "an-administrator"
)

// OperatorPrivileges are what the account of the program under test has, on every object: what the operator's
// documentation must ask for, without adoption. System.Anonymous, System.Read and System.View come with every role.
var OperatorPrivileges = slices.Concat(RequiredPrivileges, NetworkPrivileges)

// RequiredPrivileges are what the account needs whatever groups there are.
var RequiredPrivileges = []string{
	"Datastore.AllocateSpace",
	"Folder.Create",
	"Folder.Delete",
	"Network.Assign",
	"Resource.AssignVMToPool",
	"Sessions.TerminateSession",
	"VirtualMachine.Config.AddNewDisk",
	"VirtualMachine.Config.AdvancedConfig",
	"VirtualMachine.Config.CPUCount",
	"VirtualMachine.Config.Memory",
	"VirtualMachine.Config.Settings",
	"VirtualMachine.Interact.PowerOff",
	"VirtualMachine.Interact.PowerOn",
	"VirtualMachine.Inventory.CreateFromExisting",
	"VirtualMachine.Inventory.Delete",
	"VirtualMachine.Provisioning.DeployTemplate",
}

// NetworkPrivileges are what the account needs in addition for VMs that are connected to another network than their template.
var NetworkPrivileges = []string{
	"VirtualMachine.Config.EditDevice",
}

// AdoptionPrivileges are what the account needs in addition for VMs to be adopted: what the operator's documentation must ask for.
var AdoptionPrivileges = []string{
	"VirtualMachine.Config.Rename",
	"VirtualMachine.Inventory.Move",
}

var systemPrivileges = []string{"System.Anonymous", "System.Read", "System.View"}

// access is who may log in, and what the restricted one of them may do.
type access struct {
	username, password           string
	adminUsername, adminPassword string
	privileges                   []string
}

func (a *access) validLogin(req *types.Login) bool {
	return req.UserName == a.username && req.Password == a.password ||
		req.UserName == a.adminUsername && req.Password == a.adminPassword
}

// grants reports whether an account has a privilege.
func (a *access) grants(username, privilege string) bool {
	switch username {
	case a.adminUsername:
		return true
	case a.username:
		return slices.Contains(systemPrivileges, privilege) || slices.Contains(a.privileges, privilege)
	}
	return false
}

// check refuses a call for which the account lacks a privilege. Methods that the table of needs does not know are
// refused to all but the administrator: a new call of the operator's has to be entered there, and documented.
func (a *access) check(ctx *simulator.Context, m *simulator.Method) types.BaseMethodFault {
	user := ctx.Session.UserName
	if user == a.adminUsername || user == "" || readOnly[m.Name] { // the simulator itself has no name
		return nil
	}
	for _, n := range needs(ctx, m) {
		if !a.grants(user, n.privilege) {
			return &types.NoPermission{Object: &n.on, PrivilegeId: n.privilege}
		}
	}
	return nil
}
