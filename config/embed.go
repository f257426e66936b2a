// Package config holds deployment files that the manager prints.
package config

import (
	_ "embed"
	"strings"
)

var (
	//go:embed member-rbac/serviceaccount.yaml
	memberServiceAccounts string
	//go:embed member-rbac/roles/runtime-clusterrole.yaml
	runtimeClusterRole string
	//go:embed member-rbac/roles/runtime-role.yaml
	runtimeRole string
	//go:embed member-rbac/roles/bootstrap-clusterrole.yaml
	bootstrapClusterRole string
	//go:embed member-rbac/roles/bootstrap-role.yaml
	bootstrapRole string
	//go:embed member-rbac/roles/limits-reader.yaml
	limitsReader string
	//go:embed member-rbac/roles/vmgroups.yaml
	vmgroupRoles string
	//go:embed member-rbac/bindings.yaml
	memberBindings string
	//go:embed member-renewal/roles.yaml
	renewalRoles string
	//go:embed member-renewal/session.yaml
	session string
	//go:embed member-renewal/policy.yaml
	tokenPolicy string
)

// MemberRBAC returns, as YAML documents, the ServiceAccounts in a member whose tokens go into the hub's kubeconfig
// Secrets, what they may do, and what teams may do with VmGroups. Reading Secrets for user data is not in it.
func MemberRBAC() string {
	return strings.Join([]string{
		memberServiceAccounts, runtimeClusterRole, runtimeRole, bootstrapClusterRole, bootstrapRole, limitsReader, vmgroupRoles, memberBindings,
	}, "---\n")
}

// MemberRenewal returns, as YAML documents, what the ServiceAccounts in a member need to renew their own tokens, and what limits these tokens.
func MemberRenewal() string {
	return strings.Join([]string{renewalRoles, session, tokenPolicy}, "---\n")
}
