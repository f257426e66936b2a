// Package faultproxy is a reverse proxy in front of a server under test. It can do to each request what a network or a busy server does:
// delay it, cut its connection before or after the server has acted, truncate its answer, let it hang, or answer in place of the server. It
// does not interpret the content. The proxies in front of API servers and vCenter use it.
package faultproxy
