//go:build unix

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// HubOptions say how a hub shall be started. The zero value is a usable one.
type HubOptions struct {
	// Name is that of the cluster, as in [Options]; empty means "hub". The node is called <name>-node.
	Name string
	// Progress is told when programs have to be built first; nil means standard error.
	Progress io.Writer
	// APIServerArgs are flags for kube-apiserver, handled as in [Options].
	APIServerArgs []string
	// ControllerManagerArgs are flags for kube-controller-manager, handled like APIServerArgs.
	ControllerManagerArgs []string
	// Audit writes one line of JSON for each request, without bodies, to the file AuditLog.
	Audit bool
	// Keep leaves the directories with data and logs in place after Stop.
	Keep bool
}

// Hub is a cluster that runs Pods: a control plane with kube-controller-manager, kube-scheduler and one node with
// kubelet, containerd, runc and kube-proxy. Start one with [StartHub] and end it with Stop.
//
// The node lives in namespaces of its own. From this machine all addresses of the cluster can be reached: those of its
// Services and Pods, and the node's with its NodePorts. Pods reach this machine at HostAddress, and nothing else. There is
// no DNS.
type Hub struct {
	*ControlPlane
	node   *node
	images []string // archives that were loaded, to load them again
}

// StartHub starts a hub and returns when its node is Ready, Services work and the namespace default has its service
// account. ctx bounds the start only. It checks [Preflight] first. An error quotes the last lines of the log of what
// failed; nothing then runs.
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

// nodePrograms gets the programs of a node, and builds them first where needed.
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

// HostAddress is this machine's end of the link to the node: Pods reach what listens on it, or on all addresses.
func (h *Hub) HostAddress() string { return h.node.net.host.String() }

// NodeAddress is the node's end, at which NodePorts are served.
func (h *Hub) NodeAddress() string { return h.node.net.node.String() }

// ServiceAddress is that of the Service kubernetes, at which Pods reach the API server.
func (h *Hub) ServiceAddress() string { return Options{node: &h.node.net}.serviceAddress() }

// NodeName is that of the Node object.
func (h *Hub) NodeName() string { return h.node.name }

// NodeDir is the directory with the logs and files of the programs that belong to the node, each log named after its
// program, and with the logs of Pods below log/pods.
func (h *Hub) NodeDir() string { return h.node.dir }

// NodeCommand runs a program of this machine in the namespaces of the node, for example iptables, and returns what it
// printed. It is killed when ctx ends.
func (h *Hub) NodeCommand(ctx context.Context, name string, args ...string) ([]byte, error) {
	return h.node.space.command(ctx, nil, name, args...)
}

// Stop ends all programs, with all Pods, and removes what they made. It may be called more than once. It does not ask
// politely: nobody will read the data again.
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
