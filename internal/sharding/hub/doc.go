// Package hub is the I/O of the sharding protocol: it executes the protocol's requests at the hub's API server and
// observes the hub's state. It makes no decisions.
//
// A session is a Lease, the shard map is a ConfigMap. The requests use their own connections, so that other requests
// of the operator cannot delay a renewal.
//
// # Outcomes
//
// Do sends one request and reports only what is certain. Only a response of the API server itself proves that a write
// was executed, or was not. Any other result is protocol.Unknown: an unanswered request can be executed later, and a
// page from an intermediate proxy proves nothing.
package hub
