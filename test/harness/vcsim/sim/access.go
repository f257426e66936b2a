package sim

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
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
	username                     string
	adminUsername, adminPassword string
	privileges                   []string
	// noRoot takes everything on the root object from the restricted account.
	noRoot bool
	// rootLenient needs a permission on the root object only for tasks whose object is gone.
	rootLenient bool
	// narrow leaves the restricted account only the role Read-only on datacenters.
	narrow  bool
	lockout lockout

	mu       sync.Mutex
	password string
}

// validLogin checks a login. The policy of lockouts does not apply to the administrator.
func (a *access) validLogin(req *types.Login) bool {
	if req.UserName == a.username {
		a.mu.Lock()
		right := req.Password == a.password
		a.mu.Unlock()
		return a.lockout.login(right)
	}
	return req.UserName == a.adminUsername && req.Password == a.adminPassword
}

func (a *access) setPassword(password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.password = password
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

// rootFolder is the reference of the root folder of every vCenter.
const rootFolder = "group-d1"

// grantsOn reports whether an account has a privilege on an object.
func (a *access) grantsOn(username, privilege string, on types.ManagedObjectReference) bool {
	if username == a.username && (a.noRoot && on.Value == rootFolder || a.narrow && on.Type == "Datacenter" && !slices.Contains(systemPrivileges, privilege)) {
		return false
	}
	return a.grants(username, privilege)
}

// rootOf is the object on which vCenter checks privileges for what is no part of the inventory.
func rootOf(ctx *simulator.Context) types.ManagedObjectReference {
	instance, ok := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok {
		return types.ManagedObjectReference{}
	}
	return instance.Content.RootFolder
}

// check refuses a call for which the account lacks a privilege. Methods that the table of needs does not know are
// refused to all but the administrator: a new call of the operator's has to be entered there, and documented.
func (a *access) check(ctx *simulator.Context, m *simulator.Method) types.BaseMethodFault {
	user := ctx.Session.UserName
	if user == a.username && a.noRoot && !a.rootLenient && (m.Name == "ContinueRetrievePropertiesEx" || m.Name == "QueryEvents") {
		on := rootOf(ctx)
		return &types.NoPermission{Object: &on, PrivilegeId: "System.View"}
	}
	if user == a.adminUsername || user == "" || readOnly[m.Name] { // the simulator itself has no name
		return nil
	}
	for _, n := range needs(ctx, m) {
		if !a.grantsOn(user, n.privilege, n.on) {
			return &types.NoPermission{Object: &n.on, PrivilegeId: n.privilege}
		}
	}
	return nil
}
