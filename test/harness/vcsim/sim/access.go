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

// AdminUsername and AdminPassword log a person in who may do everything, unless Options say otherwise.
const (
	AdminUsername = "administrator@vsphere.local"
	AdminPassword = "an-administrator"
)

// OperatorPrivileges are what the account of the program under test has, on every object: the roles of the operator's
// documentation. System.Anonymous, System.Read and System.View come with every role. What calls need is said by
// needs.go, from the API reference.
var OperatorPrivileges = slices.Concat(RequiredPrivileges, NetworkPrivileges)

// RequiredPrivileges are what the account needs whatever groups there are.
var RequiredPrivileges = slices.Concat(privileges.For(privileges.Always), privileges.For(privileges.ForSessions))

// NetworkPrivileges are what the account needs in addition for VMs that are connected to another network than their
// template.
var NetworkPrivileges = privileges.For(privileges.ForNetworks)

// AdoptionPrivileges are what the account needs in addition for VMs to be adopted.
var AdoptionPrivileges = privileges.For(privileges.ForAdoption)

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
	// tokensAfter is Options.TokenServiceStart.
	tokensAfter time.Duration

	mu       sync.Mutex
	password string
	// tokensAt is when the token service is ready.
	tokensAt time.Time
}

// validLogin checks a login. The policy of lockouts does not apply to the administrator.
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

// starts says that vCenter starts now.
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
