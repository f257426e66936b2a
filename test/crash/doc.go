//go:build unix

// Package crash ends, cuts off or confuses the manager at every call that it makes, and demands that the VMs end up
// as asked for. The manager is the product's own binary. Its calls to the API server and to vCenter are numbered
// outside of it, in the proxies that they pass: a [Point] is one call of one [Scenario] together with what happens
// there, such as SIGKILL after the server has acted and before the answer is read.
//
// A trial of a point sets the scenario up, makes the change with the point armed, starts the manager again if it
// was killed, and waits until the spec is fulfilled. Then nothing may be left over, nothing foreign may have been
// touched, no VM may have been changed that the change did not ask for, and nothing more may be written.
//
// `make test` tries a sample, `make test-slow` a larger one; `make test-crash` tries all points, see command ./test/crash/full.
package crash
