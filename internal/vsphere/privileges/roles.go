package privileges

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Names of roles in the documentation. Messages about missing grants use them.
const (
	// RoleName is for everything below the vCenter itself.
	RoleName = "VmGroupOperator"
	// RootRoleName is for the vCenter itself, without propagation.
	RootRoleName = "VmGroupOperatorSessions"
)

// Role is a role to create in vCenter.
type Role struct {
	Name string
	// Privileges are the IDs that the role adds to those of every role, in the order of the list.
	Privileges []string
}

// Roles returns the two roles that serve all VmGroups without special needs.
func Roles() []Role {
	main, root := Role{Name: RoleName}, Role{Name: RootRoleName}
	for _, p := range all {
		switch {
		case p.ID == vsphere.PrivilegeRead:
		case p.Object == Root:
			root.Privileges = append(root.Privileges, p.ID)
		case p.Needed == Always || p.Needed == ForNetworks:
			main.Privileges = append(main.Privileges, p.ID)
		}
	}
	return []Role{main, root}
}

// Extra returns the additions to the role RoleName for each further condition, in the order of the list.
func Extra() []Privilege {
	var out []Privilege
	seen := map[string]bool{}
	for _, id := range Roles()[0].Privileges {
		seen[id] = true
	}
	for _, p := range all {
		if p.Object != Root && p.ID != vsphere.PrivilegeRead && !seen[p.ID] {
			seen[p.ID] = true
			out = append(out, p)
		}
	}
	return out
}
