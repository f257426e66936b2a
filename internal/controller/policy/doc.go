// Package policy writes the status of VmGroupPolicies: the number of groups that each applies to, the number of groups that break it, and whether it
// can be used as written. Every replica runs it and the leader writes. It counts from memory, for all policies at once, every few seconds. No
// permission depends on it.
package policy
