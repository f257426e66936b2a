//go:build unix

package localcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// node is the only node of a hub, with the scheduler and controllers that need it.
type node struct {
	name   string
	dir    string
	unlock func()
	keep   bool
	cgroup string
	net    network
	space  *sandbox

	containerd, kubelet, proxy *process
	scheduler, controllers     *process
	ctr                        string // path of the program
	snapshotter                string
}

// newNode makes the node's directory, namespaces and network. It starts no programs.
func newNode(ctx context.Context, cluster string, keep bool) (_ *node, err error) {
	n := &node{name: cluster + "-node", keep: keep}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.stop())
		}
	}()
	if n.dir, n.unlock, err = newDir(n.name); err != nil {
		return nil, err
	}
	// The name links the directory to the control groups for cleanup.
	n.cgroup = filepath.Base(n.dir)
	if err := makeCgroup(n.cgroup); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience,
		fmt.Errorf("the node's namespaces were not ready within %s", startPatience))
	defer cancel()
	if n.space, err = startSandbox(ctx, n.dir); err != nil {
		return nil, err
	}
	n.net, err = connectSandbox(ctx, n.space)
	return n, err
}

// programs are the directories of a node's programs.
type programs struct{ kubernetes, containerd string }

// prepare writes configurations and describes the programs. It needs the control plane's files, but not a running control plane.
func (n *node) prepare(plane *ControlPlane, p programs, o HubOptions) error {
	if err := n.writeFiles(plane); err != nil {
		return err
	}
	n.ctr = filepath.Join(p.containerd, "ctr")
	// containerd finds its shim on the path, and the shim finds runc there.
	path := "PATH=" + p.containerd + string(os.PathListSeparator) + os.Getenv("PATH")
	n.containerd = n.space.process(filepath.Join(p.containerd, "containerd"),
		[]string{"--config=" + n.file("containerd.toml")}, []string{path})
	n.kubelet = n.space.process(filepath.Join(p.kubernetes, "kubelet"), []string{
		"--config=" + n.file("kubelet.yaml"),
		"--kubeconfig=" + n.file("kubelet.kubeconfig"),
		"--hostname-override=" + n.name,
		"--node-ip=" + n.net.node.String(),
	}, nil)
	n.proxy = n.space.process(filepath.Join(p.kubernetes, "kube-proxy"), []string{"--config=" + n.file("kube-proxy.yaml")}, nil)
	n.scheduler = n.space.process(filepath.Join(p.kubernetes, "kube-scheduler"), []string{
		"--kubeconfig=" + n.file("kube-scheduler.kubeconfig"), "--bind-address=127.0.0.1", "--leader-elect=false",
	}, nil)
	n.controllers = n.space.process(filepath.Join(p.kubernetes, "kube-controller-manager"), mergeArgs([]string{
		"--kubeconfig=" + n.file("kube-controller-manager.kubeconfig"), "--bind-address=127.0.0.1", "--leader-elect=false",
		"--use-service-account-credentials=true",
		"--flex-volume-plugin-dir=/var/lib/kubelet/volumeplugins",
		"--root-ca-file=" + plane.file("ca.crt"),
		"--service-account-private-key-file=" + plane.file("sa.key"),
	}, o.ControllerManagerArgs), nil)
	return nil
}

// startControllers starts the scheduler and the controllers, which retry until the API server serves.
func (n *node) startControllers() error {
	return errors.Join(n.scheduler.start(), n.controllers.start())
}

// startContainerd starts containerd and waits until it serves its socket.
func (n *node) startContainerd(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready within %s of its start", startPatience))
	defer cancel()
	if err := n.containerd.start(); err != nil {
		return err
	}
	return n.containerd.waitUntil(ctx, func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", n.space.path(containerdSocket))
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// startKubelet starts kubelet and waits until it is healthy.
func (n *node) startKubelet(ctx context.Context, plane *ControlPlane) error {
	return plane.startAndWait(ctx, n.kubelet, func(ctx context.Context) error {
		return plane.get(ctx, direct, "http://"+net.JoinHostPort(n.net.node.String(), "10248")+"/healthz")
	})
}

// startProxy starts kube-proxy and waits until it has written its rules.
func (n *node) startProxy(ctx context.Context, plane *ControlPlane) error {
	return plane.startAndWait(ctx, n.proxy, func(ctx context.Context) error {
		return plane.get(ctx, direct, "http://"+net.JoinHostPort(n.net.node.String(), "10256")+"/healthz")
	})
}

// waitReady waits until Pods can be scheduled and get the tokens of their service accounts.
func (n *node) waitReady(ctx context.Context, plane *ControlPlane) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready within %s", startPatience))
	defer cancel()
	err := n.controllers.waitUntil(ctx, func(ctx context.Context) error {
		return plane.get(ctx, plane.http, plane.Config.Host+"/api/v1/namespaces/default/serviceaccounts/default")
	})
	if err != nil {
		return err
	}
	return n.kubelet.waitUntil(ctx, func(ctx context.Context) error {
		var object corev1.Node
		if err := plane.read(ctx, "/api/v1/nodes/"+n.name, &object); err != nil {
			return err
		}
		if len(object.Spec.Taints) > 0 {
			return fmt.Errorf("node %s is still tainted: %v", n.name, object.Spec.Taints)
		}
		for _, condition := range object.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("node %s is not Ready: %v", n.name, object.Status.Conditions)
	})
}

// direct is a client for plain HTTP to the node. It ignores the proxy settings of this machine.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// read gets an object from the API server.
func (c *ControlPlane) read(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Config.Host+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// stop ends all processes in the node and removes their files. It can be called more than once, and on a partly created node.
func (n *node) stop() error {
	for _, p := range []*process{n.kubelet, n.proxy, n.scheduler, n.controllers, n.containerd} {
		if p != nil {
			p.kill()
		}
	}
	if n.space != nil {
		n.space.stop()
	}
	if n.unlock == nil {
		return nil
	}
	defer func() { n.unlock(); n.unlock = nil }()
	err := n.net.disconnect()
	if n.cgroup != "" {
		err = errors.Join(err, removeCgroup(n.cgroup))
	}
	if n.keep || err != nil {
		return err
	}
	if err := os.RemoveAll(n.dir); err != nil {
		return fmt.Errorf("remove the directory of node %s: %w", n.name, err)
	}
	return nil
}
