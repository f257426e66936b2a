// Package effect carries out the steps of a pass over a VmGroup. Each [group.Step] that group.Decide can return is an [Effect]
// in a file of its own; [New] puts them into one [Table].
//
// An effect writes to an API server or asks a vCenter. It adds the result to the snapshot, from which group.Decide computes the
// next step. It never waits for a task of vCenter. Its errors are errors of Kubernetes API servers; errors of vCenter become
// conditions of the next decision.
package effect
