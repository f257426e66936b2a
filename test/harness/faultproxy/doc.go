// Package faultproxy is a reverse proxy that stands before a server under test and can do to each request what a
// network or a busy server does: delay it, cut its connection before or after the server has acted, cut its answer in
// half, let it hang, or answer in the server's place. It knows nothing of what it carries; the proxies before API servers
// and before vCenter are built on it.
package faultproxy
