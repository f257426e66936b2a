// Package remote connects to one member: it turns the configuration of its kubeconfig into clients that end with their
// incarnation. It returns the reason why a member is unreachable, as text for a condition.
package remote
