package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
)

// AdminUsername and AdminPassword are the default login of a user with all privileges.
const (
	AdminUsername = "administrator@vsphere.local"
	AdminPassword = "an-administrator"
)

// OperatorPrivileges are the privileges of the account of the program under test on every object: the roles of the operator's
// documentation. Every role includes System.Anonymous, System.Read and System.View. needs.go lists the privileges that calls need, from the
// API reference.
var OperatorPrivileges = slices.Concat(RequiredPrivileges, NetworkPrivileges)

// RequiredPrivileges are those that the account needs for any groups.
var RequiredPrivileges = slices.Concat(privileges.For(privileges.Always), privileges.For(privileges.ForSessions))

// NetworkPrivileges are additional privileges for VMs that are connected to another network than their template.
var NetworkPrivileges = privileges.For(privileges.ForNetworks)

// DiskPrivileges are additional privileges for VMs with larger disks than their template.
var DiskPrivileges = privileges.For(privileges.ForDisks)

// AdoptionPrivileges are additional privileges for the adoption of VMs.
var AdoptionPrivileges = privileges.For(privileges.ForAdoption)

var systemPrivileges = []string{"System.Anonymous", "System.Read", "System.View"}

// access contains the accounts and the privileges of the restricted account.
type access struct {
	username                     string
	adminUsername, adminPassword string
	privileges                   []string
	// noRoot removes all privileges of the restricted account on the root object.
	noRoot bool
	// rootLenient requires a permission on the root object only for tasks whose object was removed.
	rootLenient bool
	// narrow leaves the restricted account only the role Read-only on datacenters.
	narrow  bool
	lockout lockout
	// tokensAfter is Options.TokenServiceStart.
	tokensAfter time.Duration

	mu       sync.Mutex
	password string
	// tokensAt is the time from which the token service is ready.
	tokensAt time.Time
}

// validLogin checks a login. The lockout policy does not apply to the administrator.
func (a *access) validLogin(req *types.Login) bool {
	if req.UserName == a.username {
		a.mu.Lock()
		right, ready := req.Password == a.password, !time.Now().Before(a.tokensAt)
		a.mu.Unlock()
		if !ready {
			a.lockout.reject()
			return false
		}
		return a.lockout.login(right)
	}
	return req.UserName == a.adminUsername && req.Password == a.adminPassword
}

// starts marks the start of vCenter.
func (a *access) starts() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokensAt = (time.Time{}); a.tokensAfter > 0 {
		a.tokensAt = time.Now().Add(a.tokensAfter)
	}
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

// rootFolder is the reference of every vCenter's root folder.
const rootFolder = "group-d1"

// grantsOn reports whether an account has a privilege on an object.
func (a *access) grantsOn(username, privilege string, on types.ManagedObjectReference) bool {
	if username == a.username && (a.noRoot && on.Value == rootFolder || a.narrow && on.Type == "Datacenter" && !slices.Contains(systemPrivileges, privilege)) {
		return false
	}
	return a.grants(username, privilege)
}

// rootOf returns the object on which vCenter checks privileges for objects outside of the inventory.
func rootOf(ctx *simulator.Context) types.ManagedObjectReference {
	instance, ok := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok {
		return types.ManagedObjectReference{}
	}
	return instance.Content.RootFolder
}

// check refuses a call if the account lacks a privilege. Only the administrator can call methods that are missing in the table of needs: a
// new call of the operator must be added there, and documented.
func (a *access) check(ctx *simulator.Context, m *simulator.Method) types.BaseMethodFault {
	user := ctx.Session.UserName
	if user == a.username && a.noRoot && !a.rootLenient && (m.Name == "ContinueRetrievePropertiesEx" || m.Name == "QueryEvents") {
		on := rootOf(ctx)
		return &types.NoPermission{Object: &on, PrivilegeId: "System.View"}
	}
	if user == a.adminUsername || user == "" || readOnly[m.Name] { // calls of the simulator have no user name
		return nil
	}
	for _, n := range needs(ctx, m) {
		if !a.grantsOn(user, n.privilege, n.on) {
			return &types.NoPermission{Object: &n.on, PrivilegeId: n.privilege}
		}
	}
	return nil
}
