// Package e2e installs the chart with the real Helm onto a real cluster with a real node, joins two members, and then does
// to the installation what happens to installations: processes die, a runtime forgets, a node stops, releases are upgraded
// and rolled back, certificates are renewed, and one day all of it is uninstalled and installed again.
//
// What the operator does is counted outside of it: by a proxy before the vCenter simulator, which also enforces the
// privileges that the documentation tells users to grant, by the API servers' audit logs, and by reading the ring and the
// sessions on the hub.
//
// The stories are one test in a fixed order, because each leaves an installation for the next, as in life. They need root
// on Linux, for the node; `make test-e2e` installs what is missing and runs them.
package e2e
