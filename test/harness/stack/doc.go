//go:build unix

// Package stack runs the whole product on this machine as a user would have it: a hub and member clusters with
// real API servers, a simulated vCenter behind a counting proxy, and the manager's own binary. The demo and the
// integration tests stand on it.
//
// Every address is loopback. What a Stack started ends with Stop, and with the process.
package stack
