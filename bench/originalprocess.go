//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/bench/original"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// originalCommand makes this program run the original in a separate process.
	originalCommand = "original"
	originalRoot    = "original"
)

// runOriginal serves until standard input ends, so it never outlives its parent.
func runOriginal(ctx context.Context, args []string) error {
	var o original.Options
	flags := flag.NewFlagSet(originalCommand, flag.ContinueOnError)
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster to serve")
	flags.StringVar(&o.URL, "url", "", "URL of the vCenter's SDK")
	flags.StringVar(&o.Root, "root", "", "inventory path of the folder for the groups")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.Username, o.Password = os.Getenv("VC_USER"), os.Getenv("VC_PASS")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return original.Run(ctx, o)
}

// originalProcess is the original with its own cluster: on a member, two operators would serve one group.
type originalProcess struct {
	subject *subject
	cmd     *exec.Cmd
	stdin   io.Closer
	cluster *stack.Cluster
}

// startOriginal starts the original beside the product, or returns the running one.
func (r *rig) startOriginal(ctx context.Context) (_ *originalProcess, err error) {
	if r.original != nil {
		return r.original, nil
	}
	o := &originalProcess{}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.stop())
		}
	}()
	if o.cluster, err = r.StartCluster(ctx, "original"); err != nil {
		return nil, err
	}
	if err := installKind(ctx, o.cluster); err != nil {
		return nil, err
	}
	root := "/DC0/vm/" + originalRoot
	if err := r.Person.CreateFolders(ctx, root); err != nil {
		return nil, err
	}
	var credentials corev1.SecretList
	if err := r.Hub.List(ctx, &credentials, client.InNamespace(stack.Namespace)); err != nil {
		return nil, fmt.Errorf("read the vCenter's credentials: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	//nolint:gosec // it is this program itself
	o.cmd = exec.Command(self, originalCommand, "-kubeconfig="+o.cluster.KubeconfigFile, "-url="+r.Proxy.URL, "-root="+root)
	o.cmd.Env = os.Environ()
	for _, secret := range credentials.Items {
		if password, ok := secret.Data["password"]; ok {
			o.cmd.Env = append(o.cmd.Env, "VC_USER="+string(secret.Data["username"]), "VC_PASS="+string(password))
		}
	}
	o.cmd.Stderr = os.Stderr
	if o.stdin, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := o.cmd.Start(); err != nil {
		o.cmd = nil
		return nil, fmt.Errorf("start the original: %w", err)
	}
	o.subject = &subject{agent: original.UserAgent, cluster: o.cluster}
	r.original = o
	return o, nil
}

// installKind makes a cluster serve VmGroups. The original has the same status columns.
func installKind(ctx context.Context, cluster *stack.Cluster) error {
	definition := crd.VmGroupCRD()
	if err := cluster.Create(ctx, definition); err != nil {
		return fmt.Errorf("install the VmGroup kind for the original: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return await.Condition(ctx, "the VmGroup kind to be served", func(ctx context.Context) (bool, error) {
		err := cluster.List(ctx, &v1alpha1.VmGroupList{})
		return err == nil, err
	})
}

func (o *originalProcess) stop() error {
	var errs []error
	if o.cmd != nil {
		errs = append(errs, o.stdin.Close(), o.cmd.Wait())
	}
	if o.cluster != nil {
		errs = append(errs, o.cluster.Stop())
	}
	return errors.Join(errs...)
}
