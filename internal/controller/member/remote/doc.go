// Package remote reaches one member: it turns a kubeconfig, which is not trusted, into clients that end with their incarnation,
// and says in the words of a condition why a member cannot be reached.
package remote
