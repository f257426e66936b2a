//go:build unix

// Package localcluster runs real Kubernetes clusters on this machine.
//
// [StartControlPlane] starts an etcd and a kube-apiserver on loopback, with RBAC, service account keys and their own certificate authority.
// They store, watch, validate and admit objects as in any cluster. Without a node, a scheduler and a controller manager, Pods do not run,
// and garbage and deleted namespaces stay. No service account is created automatically, and the aggregated roles view, edit and admin are
// empty. [ControlPlane.StartControllers] adds the controllers that a test needs.
//
// [StartHub] starts a complete cluster: controllers, a scheduler and a node with kubelet, containerd, runc and kube-proxy in separate Linux
// namespaces. It needs root on Linux and a few packages. [Preflight] reports missing ones, and docs/contributing/local-cluster.md describes the design.
//
// A control plane is ready about 4 seconds after its start and takes about 0.35 GiB. A test can stop, kill and restart the API server or
// etcd on the same port with the same data.
//
// No process outlives the process that started it, even if that is killed with SIGKILL. On Linux the kernel ends the children (parent death
// signal). Elsewhere a watchdog shell does. A node ends with the first process of its namespaces, including Pods, mounts and links. The
// next start of a cluster, or [Sweep], removes the temporary files of a killed process.
package localcluster
