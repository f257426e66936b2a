// Package remote connects to one member: it turns a kubeconfig, which is not trusted, into clients that end with their
// incarnation. It returns the reason why a member is unreachable, as text for a condition.
package remote
