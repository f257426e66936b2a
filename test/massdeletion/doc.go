// Package massdeletion removes much of what the operator serves at once, as people and their tools do by accident and on purpose: 40 of 150
// groups, a namespace, everything scaled to zero, a group of 500 VMs, a member, a CRD that comes back. What is destroyed is asked of vCenter, never taken from the
// operator's own words. The stories walk each way out to its end, and replicas are killed in the middle. They take long, so all have the
// build tag slow.
//
// On the hub of these stories a group of any age is guarded. They share its servers, and run one after the other: each has a member of its
// own, but a replica that is killed is killed for all.
package massdeletion
