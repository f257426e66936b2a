// Package policy says what a VmGroup may ask for. It is pure: values in, values out, no client, logger or
// clock, so that the admission webhook and the reconciler come to the same answer.
//
// Today it evaluates the grants of a VCenter: which members and namespaces may use it, and which templates,
// resource pools, datastores and networks they may name. Everything that is not granted is refused.
package policy
