// Package rbac tests the permissions of the operator's identities in a member, and their limits, against a real API
// server that authorizes by the roles below config/.
package rbac
