//go:build unix

// Command cluster starts a hub cluster that runs Pods, with cert-manager, and several members beside it. It prints how to
// reach them and runs until it is interrupted. Then it removes everything. It needs root on Linux.
//
//	go run ./hack/cluster -members=2
//	go run ./hack/cluster -sweep       # clean up after a crash; starts nothing
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster/addons"
)

func main() {
	members := flag.Int("members", 2, "number of member clusters")
	dir := flag.String("dir", "", "directory for the kubeconfigs; empty makes a temporary one, which is removed at the end")
	sweep := flag.Bool("sweep", false, "only remove what clusters of killed processes left behind")
	flag.Parse()
	if *sweep {
		localcluster.Sweep()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *members, *dir, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, members int, dir string, out io.Writer) (err error) {
	if err := localcluster.InstallPackages(ctx, os.Stderr); err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "vmgroup-kubeconfigs-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	began := time.Now()
	hub, err := localcluster.StartHub(ctx, localcluster.HubOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.Stop()) }()
	if err := addons.InstallCertManager(ctx, hub, os.Stderr); err != nil {
		return err
	}
	planes := []*localcluster.ControlPlane{hub.ControlPlane}
	for number := range members {
		// Pods of the hub reach members at this address.
		member, err := localcluster.StartControlPlane(ctx, localcluster.Options{
			Name: fmt.Sprintf("member-%d", number+1), Address: hub.HostAddress(),
		})
		if err != nil {
			return err
		}
		defer func() { _ = member.Stop() }()
		planes = append(planes, member)
	}
	_, _ = fmt.Fprintf(out, "up after %s; the node is at %s, Pods reach this machine at %s\n",
		time.Since(began).Round(100*time.Millisecond), hub.NodeAddress(), hub.HostAddress())
	for _, plane := range planes {
		file := filepath.Join(dir, plane.Name+".kubeconfig")
		if err := os.WriteFile(file, plane.Kubeconfig(), 0o600); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "export KUBECONFIG=%s\n", file)
	}
	_, _ = fmt.Fprintln(out, "Ctrl-C ends and removes everything")
	<-ctx.Done()
	return nil
}
