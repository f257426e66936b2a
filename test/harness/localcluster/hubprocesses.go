//go:build unix

package localcluster

import "context"

// KillKubelet ends the kubelet at once with SIGKILL, as a crash would. Containers go on.
func (h *Hub) KillKubelet() { h.node.kubelet.kill() }

// StopKubelet ends the kubelet with SIGTERM, as systemd does. Containers go on.
func (h *Hub) StopKubelet(ctx context.Context) error { return h.node.kubelet.stop(ctx) }

// StartKubelet starts the kubelet again and waits until it is healthy.
func (h *Hub) StartKubelet(ctx context.Context) error {
	return h.node.startKubelet(ctx, h.ControlPlane)
}

// KillContainerd ends containerd at once with SIGKILL. Containers and their shims go on.
func (h *Hub) KillContainerd() { h.node.containerd.kill() }

// StartContainerd starts containerd again and waits until it serves.
func (h *Hub) StartContainerd(ctx context.Context) error { return h.node.startContainerd(ctx) }

// KillKubeProxy ends kube-proxy at once with SIGKILL. Its rules stay.
func (h *Hub) KillKubeProxy() { h.node.proxy.kill() }

// StartKubeProxy starts kube-proxy again and waits until its rules are written.
func (h *Hub) StartKubeProxy(ctx context.Context) error {
	return h.node.startProxy(ctx, h.ControlPlane)
}
