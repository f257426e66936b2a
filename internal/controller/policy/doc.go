// Package policy writes the status of VmGroupPolicies: how many groups each holds for, how many break it, and whether it
// can be used as it is written. Every replica runs it and the leader writes. It counts from memory, for all policies at
// once, every few seconds; who may do what does not depend on it.
package policy
