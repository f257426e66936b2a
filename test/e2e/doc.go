// Package e2e installs the chart with the real Helm onto a real cluster with a real node, and joins two members. Then
// the events in the life of an installation follow: processes die, a runtime loses its state, a node stops, releases
// are upgraded and rolled back, certificates are renewed. In the end the installation is uninstalled and installed
// again.
//
// The tests observe the operator from outside: by a proxy in front of the vCenter simulator, by the API servers' audit
// logs, and by the shard map and the sessions on the hub. The simulator also enforces the documented privileges.
//
// The stories are one test in a fixed order, because each leaves an installation for the next one. They need root on
// Linux, for the node; `make test-e2e` installs the dependencies and runs them.
package e2e
