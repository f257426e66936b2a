// Package vsphere is the port through which the operator sees and changes one vCenter.
//
// It speaks in types of its own and imports the standard library only, so that the planner's tests and the
// controllers' tests need no vCenter. The implementation on govmomi is in the subpackages: session (login,
// fencing), inventory (the index that answers every observation), operations (what was submitted and has not
// shown its effect yet), budget (how many tasks may run) and govmomi (calls and translation). Package fake is
// a stateful in-memory vCenter for tests.
//
// The contract that keeps VMs safe:
//
//   - Observing is free: it reads memory and never calls vCenter.
//   - Unknown is not absent: an observation that may miss VMs says so (Observation.Complete), and a VM that
//     was known and is not found now is in Observation.Gone only after vCenter itself said that the object
//     does not exist.
//   - Submitting never waits for the task. What was submitted stays in Observation.InFlight until its effect
//     is visible in the same observation, so that nothing is submitted twice on stale knowledge.
//   - A mutating call without a fence in its context is refused (WithFence).
package vsphere
