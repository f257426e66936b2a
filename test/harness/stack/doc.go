//go:build unix

// Package stack runs the whole product on this machine as a user has it: a hub and member clusters with real API servers, a simulated
// vCenter behind a counting proxy, and the manager's own binary. The demo and the integration tests use it.
//
// Every address is loopback. All parts of a Stack end with Stop, and with the process.
package stack
