// Package sim runs govmomi's vCenter simulator for tests and for the demo. Its helpers change VMs without the operator, and its proxy
// counts the requests that the operator sends.
//
// The simulator refuses what a vCenter refuses and govmomi's simulator accepts: see docs/contributing/simulator-rules.md.
//
// Two simulators in one process do not share inventory, sessions or ports. They share the package variables of govmomi's simulator, above
// all simulator.TaskDelay. So the clone delay applies to the whole process, and Start sets LockHandoff=0 permanently. Otherwise a delayed
// clone would hold its template's lock: clones of one template would run one at a time, and reads of the template would block. Running
// simulators read that variable without a lock. Start a simulator with another clone delay only while no other simulator runs tasks.
package sim
