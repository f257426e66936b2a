// Package massdeletion removes many of the operator's objects at once, as users and their tools do by accident and on
// purpose: 40 of 150 groups, a namespace, everything scaled to zero, a group of 500 VMs, a member, a CRD that is
// recreated. The tests read the destroyed VMs from vCenter, never from the operator's own reports. The stories test
// each remedy completely, and kill replicas during it. They take long, so all have the build tag slow.
//
// On the hub of these stories a group of any age is guarded. They share its servers, and run one at a time: each has a
// separate member, but a replica that is killed is killed for all.
package massdeletion
