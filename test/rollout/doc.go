// Package rollout edits groups that have VMs, and observes vCenter continuously while the edit reaches them: the number
// of available VMs, and of all VMs. Guests of the simulator boot and shut down, so that a new or restarted VM is not
// available at once. The tests read the VMs from vCenter, never from the operator's own reports. The stories take long,
// so all have the build tag slow.
//
// They share three replicas, and run one at a time: a replica that is killed is killed for all.
package rollout
