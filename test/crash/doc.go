//go:build unix

// Package crash ends, disconnects or confuses the manager at every call that it makes, and requires that the VMs
// end in the requested state. The manager is the product's own binary. The proxies in front of the API server and
// vCenter number its calls: a [Point] is one call of one [Scenario] together with a fault there, such as SIGKILL
// after the server has acted and before the response is read.
//
// A trial of a point sets the scenario up and makes the change with the point armed. It restarts the manager if it
// was killed, and waits until the spec is fulfilled. Then nothing can be left over, no foreign object can have
// changed, no VM can have changed without a request, and no more writes can follow.
//
// `make test` tries a sample, `make test-slow` a larger one; `make test-crash` tries all points, see command
// ./test/crash/full.
package crash
