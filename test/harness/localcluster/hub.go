//go:build unix

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// HubOptions configure the start of a hub. The zero value is usable.
type HubOptions struct {
	// Name of the cluster, as in [Options]. Empty means "hub". The name of the node is <name>-node.
	Name string
	// Progress receives the output if programs must be built first. Nil means standard error.
	Progress io.Writer
	// APIServerArgs are flags for kube-apiserver, handled as in [Options].
	APIServerArgs []string
	// ControllerManagerArgs are flags for kube-controller-manager, handled as APIServerArgs.
	ControllerManagerArgs []string
	// Audit writes one line of JSON for each request, without bodies, to the file AuditLog.
	Audit bool
	// Keep keeps the directories with data and logs after Stop.
	Keep bool
}

// Hub is a cluster that runs Pods: a control plane with kube-controller-manager, kube-scheduler and one node with kubelet, containerd, runc
// and kube-proxy. Start one with [StartHub] and end it with Stop.
//
// The node runs in its own Linux namespaces. This machine can reach all addresses of the cluster: those of its Services and Pods, and the
// node's with its NodePorts. Pods can reach this machine at HostAddress, and no other address. There is no DNS.
type Hub struct {
	*ControlPlane
	node   *node
	images []string // loaded archives, to load them again
}

// StartHub starts a hub. It returns when its node is Ready, Services work and namespace default has its service account. ctx limits only
// the start. It checks [Preflight] first. An error contains the last lines of the failed program's log. Nothing is running then.
func StartHub(ctx context.Context, o HubOptions) (_ *Hub, err error) {
	if o.Name == "" {
		o.Name = "hub"
	}
	if err := Preflight(); err != nil {
		return nil, fmt.Errorf("start hub %s: %w", o.Name, err)
	}
	p, err := nodePrograms(ctx, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("start hub %s: %w", o.Name, err)
	}
	sweep()
	h := &Hub{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start hub %s: %w", o.Name, err), h.Stop())
		}
	}()
	if h.node, err = newNode(ctx, o.Name, o.Keep); err != nil {
		return nil, err
	}
	h.ControlPlane, err = StartControlPlane(ctx, Options{
		Name: o.Name, Progress: o.Progress, APIServerArgs: o.APIServerArgs, Audit: o.Audit, Keep: o.Keep,
		Address: h.HostAddress(), node: &h.node.net,
	})
	if err != nil {
		return nil, err
	}
	if err := h.node.prepare(h.ControlPlane, p, o); err != nil {
		return nil, err
	}
	return h, h.startNode(ctx, p)
}

// nodePrograms returns the programs of a node, and builds missing ones first.
func nodePrograms(ctx context.Context, out io.Writer) (p programs, err error) {
	if p.kubernetes, err = assets.Programs(ctx, "kube-node", out); err != nil {
		return p, err
	}
	p.containerd, err = assets.Programs(ctx, "containerd", out)
	return p, err
}

func (h *Hub) startNode(ctx context.Context, p programs) error {
	if err := errors.Join(h.node.startControllers(), h.node.startContainerd(ctx)); err != nil {
		return err
	}
	if err := h.loadPause(ctx, p); err != nil {
		return err
	}
	if err := h.StartKubelet(ctx); err != nil {
		return err
	}
	if err := h.StartKubeProxy(ctx); err != nil {
		return err
	}
	return h.node.waitReady(ctx, h.ControlPlane)
}

// HostAddress is this machine's end of the link to the node. Pods can reach listeners on this address or on all addresses.
func (h *Hub) HostAddress() string { return h.node.net.host.String() }

// NodeAddress is the node's end of the link. It serves NodePorts.
func (h *Hub) NodeAddress() string { return h.node.net.node.String() }

// ServiceAddress is the address of Service kubernetes, at which Pods reach the API server.
func (h *Hub) ServiceAddress() string { return Options{node: &h.node.net}.serviceAddress() }

// NodeName is the name of the Node object.
func (h *Hub) NodeName() string { return h.node.name }

// NodeDir is the directory with the logs and files of the node's programs. Each log has the name of its program. The logs of Pods are below
// log/pods.
func (h *Hub) NodeDir() string { return h.node.dir }

// NodeCommand runs a program of this machine in the namespaces of the node, for example iptables, and returns its output. It is killed when
// ctx ends.
func (h *Hub) NodeCommand(ctx context.Context, name string, args ...string) ([]byte, error) {
	return h.node.space.command(ctx, nil, name, args...)
}

// Stop kills all programs and Pods, and removes their files. It can be called more than once. No graceful end is needed, because the data
// are not read again.
func (h *Hub) Stop() error {
	var errs []error
	if h.node != nil {
		errs = append(errs, h.node.stop())
	}
	if h.ControlPlane != nil {
		errs = append(errs, h.ControlPlane.Stop())
	}
	return errors.Join(errs...)
}
