// Package sim runs govmomi's vCenter simulator for tests and for the demo, with helpers to act behind the
// operator's back and a proxy that counts what the operator really sends.
//
// What a vCenter refuses and govmomi's simulator accepts is refused here too: see docs/contributing/simulator-rules.md.
//
// Two simulators in one process do not share inventory, sessions or ports. They do share the package variables
// of govmomi's simulator, above all simulator.TaskDelay: the clone delay is one for the whole process, and Start
// sets LockHandoff=0 in it for good. Without that a delayed clone would hold its template's lock, clones of one
// template would run one after the other, and reading the template would block. Running simulators read that
// variable without a lock, so start a simulator with another clone delay only while no other runs tasks.
package sim
