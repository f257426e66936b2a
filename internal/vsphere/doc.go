// Package vsphere is the port through which the operator reads and changes one vCenter.
//
// It defines its own types and imports only the standard library. Thus the tests of the planner and the controllers
// need no vCenter. The implementation on govmomi is in the subpackages: session has the login and the fencing,
// inventory the index that answers every observation, and operations the submitted operations without a visible effect
// yet. budget limits the concurrent tasks, and govmomi makes and translates the calls. Package fake is a stateful
// in-memory vCenter for tests.
//
// The contract that keeps VMs safe:
//
//   - An observation reads memory and never calls vCenter.
//   - Unknown is not absent. An observation that can miss VMs is not Complete. A known VM that is not found is in
//     Observation.Gone only after vCenter confirmed that the object does not exist.
//   - A submission never waits for its task. The operation stays in Observation.InFlight until the same observation
//     shows its effect, so that stale knowledge causes no second submission.
//   - A mutating call without a fence in its context is refused (WithFence).
package vsphere
