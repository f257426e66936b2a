//go:build unix

package localcluster

import "context"

// KillKubelet ends kubelet with SIGKILL, as a crash would. Containers continue.
func (h *Hub) KillKubelet() { h.node.kubelet.kill() }

// StopKubelet ends kubelet with SIGTERM, as systemd does. Containers continue.
func (h *Hub) StopKubelet(ctx context.Context) error { return h.node.kubelet.stop(ctx) }

// StartKubelet starts kubelet again and waits until it is healthy.
func (h *Hub) StartKubelet(ctx context.Context) error {
	return h.node.startKubelet(ctx, h.ControlPlane)
}

// KillContainerd ends containerd with SIGKILL. Containers and their shims continue.
func (h *Hub) KillContainerd() { h.node.containerd.kill() }

// StartContainerd starts containerd again and waits until it serves.
func (h *Hub) StartContainerd(ctx context.Context) error { return h.node.startContainerd(ctx) }

// KillKubeProxy ends kube-proxy with SIGKILL. Its rules stay.
func (h *Hub) KillKubeProxy() { h.node.proxy.kill() }

// StartKubeProxy starts kube-proxy again and waits until its rules are written.
func (h *Hub) StartKubeProxy(ctx context.Context) error {
	return h.node.startProxy(ctx, h.ControlPlane)
}
