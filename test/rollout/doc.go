// Package rollout edits groups that have VMs, and looks at vCenter all the time while the edit reaches them: how many VMs are available, and
// how many there are. Guests of the simulator boot and shut down, so that a VM which was made or restarted is not available at once. What is
// there is asked of vCenter, never taken from the operator's own words. The stories take long, so all have the build tag slow.
//
// They share three replicas, and run one after the other: a replica that is killed is killed for all.
package rollout
