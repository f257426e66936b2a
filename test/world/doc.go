// Package world tests what several replicas do together, on virtual time: a world lives in a bubble of testing/synctest and
// has N real sharding.Replicas, each with a clock of its own, a hub in memory (package shardingtest), a member cluster in memory, the
// fake vCenter, and in each replica the real group controller with its real queue. Bounds are exact, and a minute takes milliseconds.
//
// What replicas do to vCenter is recorded beside them and judged as in test/failover, by package history: two replicas never
// have calls in flight on one group at the same time. When buckets change hands is read from the hub's log.
//
// There are two kinds of work. A Prober enters every bucket all the time and makes calls of up to a second: nothing is dense
// enough to hide from. An Operator is the group controller as internal/operator wires it: multicluster-runtime's manager, controller and engagement,
// the controller's own queue, sources and event handlers. Only what lies behind the interfaces of controller-runtime is replaced.
//
// # What this cannot show
//
//   - Everything that the network, the kernel and other people's servers do: connections, TLS, HTTP, encodings, API priority, etcd,
//     kubelet, signals. Test/failover keeps the stories that show that all this fits together.
//   - A process that is stopped between two instructions; see package shardingtest for what a stop is here.
//   - An inventory of vCenter that lags behind: all replicas look at the fake's truth, and know each other's tasks.
//   - Webhooks, members that come and go, quotas: they have stories elsewhere.
package world
