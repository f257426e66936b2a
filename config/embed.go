// Package config holds deployment files that the manager prints.
package config

import (
	_ "embed"
	"strings"
)

var (
	//go:embed member-rbac/serviceaccount.yaml
	memberServiceAccount string
	//go:embed member-rbac/clusterrole.yaml
	memberClusterRole string
	//go:embed member-rbac/role.yaml
	memberRole string
	//go:embed member-rbac/bindings.yaml
	memberBindings string
)

// MemberRBAC returns, as YAML documents, the ServiceAccount in a member whose token goes into the hub's
// kubeconfig Secret, and what it may do. Reading Secrets for user data is not in it.
func MemberRBAC() string {
	return strings.Join([]string{memberServiceAccount, memberClusterRole, memberRole, memberBindings}, "---\n")
}
