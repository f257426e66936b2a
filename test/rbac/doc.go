// Package rbac shows what the operator's identities in a member may do and what they may not, against a real API server that
// authorizes by the roles below config/.
package rbac
