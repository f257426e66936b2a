// Package rbac tests the permissions of the operator's identities in a member, and their limits. A real API server
// authorizes by the roles below config/.
package rbac
