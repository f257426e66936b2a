// Package world tests several replicas together in virtual time. A world runs in a bubble of testing/synctest. It has N real
// sharding.Replicas, each with its own clock and the real group controller with its real queue. It also has a hub in memory
// (package shardingtest), a member cluster in memory, and the fake vCenter. Bounds are exact, and a minute takes milliseconds.
//
// The calls of replicas to vCenter are recorded outside of them, and package history checks them as in test/failover: two replicas never
// have calls in flight on one group at the same time. The hub's log contains the changes of buckets' holders.
//
// There are two kinds of work. A Prober enters every bucket all the time and makes calls of up to a second. Under this
// load, no overlap stays hidden. An Operator is the group controller as internal/operator wires it: multicluster-runtime's manager, controller and engagement,
// the controller's own queue, sources and event handlers. Only the code behind the interfaces of controller-runtime is replaced.
//
// # What this cannot show
//
//   - The behavior of the network, the kernel and other servers: connections, TLS, HTTP, encodings, API priority, etcd,
//     kubelet, signals. The tests of test/failover show that all this works together.
//   - A process that is stopped between two instructions. Package shardingtest defines a stop.
//   - A delayed inventory of vCenter: all replicas read the fake's current state, and know each other's tasks.
//   - Webhooks, members that join and leave, quotas: other tests cover them.
package world
