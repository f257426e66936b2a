//go:build unix

// Package localcluster runs real Kubernetes control planes on this machine: an etcd and a kube-apiserver each,
// on loopback, with RBAC, service account keys and a certificate authority of their own. There is no node, no
// scheduler and no controller manager: objects are stored, watched, validated and admitted as in any cluster,
// but nothing runs pods, nothing collects garbage or removes deleted namespaces, no service account appears by
// itself, and the aggregated roles view, edit and admin are empty.
//
// A control plane is ready about 4 seconds after its start and takes about 0.35 GiB. It can be taken apart while
// it runs: the API server or etcd stopped, killed and started again on the same port with the same data.
//
// No process outlives the one that started it, even if that is killed with SIGKILL: on Linux the kernel ends the
// children (parent death signal), elsewhere a watchdog shell does. What a killed process left in the temporary
// directory is removed by the next start of a control plane.
package localcluster
