//go:build unix

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/hack/demo/tour"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// kubeconfig is the file for the clusters of a running demo, relative to the root of the repository.
	kubeconfig = "bin/demo.kubeconfig"
	// plugin is the kubectl plugin, which `make demo` builds first.
	plugin = "bin/kubectl-vmgroup"
)

// writeKubeconfig writes the kubeconfig for the hub, the members and more clusters. The returned function removes the file.
func (d *demo) writeKubeconfig(more ...*stack.Cluster) (remove func(), err error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	clusters := map[string][]byte{tour.Hub: d.stack.Hub.Kubeconfig()}
	for name, member := range d.stack.Members {
		clusters[name] = member.Kubeconfig()
	}
	for _, c := range more {
		clusters[c.Name] = c.Kubeconfig()
	}
	content, err := tour.Kubeconfig(metav1.NamespaceDefault, clusters)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(root, kubeconfig)
	return func() { _ = os.Remove(file) }, os.WriteFile(file, content, 0o600)
}

// join joins the members as an administrator does, with the plugin.
func (d *demo) join(ctx context.Context) error {
	for _, r := range d.stack.Replicas {
		if err := await.Condition(ctx, r.Name+" to be ready", func(ctx context.Context) (bool, error) { return r.Ready(ctx), nil }); err != nil {
			return err
		}
	}
	began := time.Now()
	for _, name := range slices.Sorted(maps.Keys(d.stack.Members)) {
		if err := d.joinMember(ctx, name, d.stack.Members[name]); err != nil {
			return err
		}
	}
	d.note("The operator has access to both and renews its tokens, after %s.", since(began))
	return nil
}

func (d *demo) joinMember(ctx context.Context, name string, member *stack.Cluster) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	args := []string{"member", "join", name, "--member-context", name, "--server", member.Config.Host}
	command := exec.CommandContext(ctx, filepath.Join(root, plugin), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(root, kubeconfig), "KUBECACHEDIR="+filepath.Join(root, "bin", "demo.cache"))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("join %s: %w\n%s", name, err, out)
	}
	d.note("kubectl vmgroup %s", strings.Join(args, " "))
	// The API server lists the new kind a moment after the CRD.
	return await.Condition(ctx, "VmGroups in "+name, func(ctx context.Context) (bool, error) {
		err := member.List(ctx, &v1alpha1.VmGroupList{})
		return err == nil, err
	})
}
