// Package hub is the I/O of the sharding protocol: it carries out the protocol's requests at the hub's API server and
// keeps the hub's state observed. It decides nothing.
//
// A session is a Lease, the ring is a ConfigMap. The requests have connections of their own, so that what the rest of
// the operator does with its connections cannot hold up a renewal.
//
// # What an answer means
//
// Do sends one request and reports what is certain. Only an answer of the API server itself says that a write was
// carried out, or that it was not; everything else is protocol.Unknown: a request that nobody answered can be carried
// out later, and a page of some proxy in between proves nothing.
package hub
