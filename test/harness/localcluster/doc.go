//go:build unix

// Package localcluster runs real Kubernetes clusters on this machine.
//
// [StartControlPlane] starts an etcd and a kube-apiserver, on loopback, with RBAC, service account keys and a
// certificate authority of their own. There is no node, no scheduler and no controller manager: objects are stored,
// watched, validated and admitted as in any cluster, but nothing runs pods, nothing collects garbage or removes deleted
// namespaces, no service account appears by itself, and the aggregated roles view, edit and admin are empty.
// [ControlPlane.StartControllers] adds those controllers that a story is about.
//
// [StartHub] starts a cluster that has all of that: controllers, a scheduler and a node with kubelet, containerd, runc
// and kube-proxy, which lives in namespaces of its own. It needs root on Linux and a few packages; [Preflight] says what
// is missing, and docs/contributing/local-cluster.md how it is put together.
//
// A control plane is ready about 4 seconds after its start and takes about 0.35 GiB. It can be taken apart while
// it runs: the API server or etcd stopped, killed and started again on the same port with the same data.
//
// No process outlives the one that started it, even if that is killed with SIGKILL: on Linux the kernel ends the
// children (parent death signal), elsewhere a watchdog shell does; a node ends with the first process of its
// namespaces, which takes Pods, mounts and links along. What a killed process left in the temporary directory is
// removed by the next start of a cluster, or by [Sweep].
package localcluster
