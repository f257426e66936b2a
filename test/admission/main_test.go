//go:build unix

// Package admission tests all of admission as users meet it: real API servers for a hub and two members, real
// cert-manager controllers, and two replicas of the manager whose webhooks the members call.
//
// The tests share one stack. Each works in separate namespaces, policies and VCenters.
package admission

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const template = "vm-operator-template"

// world is the shared stack.
var world *stack.Stack

// members is for make test-skew.
var members = flag.String("members", "", "name of the tool that is the members' kube-apiserver; empty means the hub's")

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	programs, clean, err := memberPrograms(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer clean()
	world, err = stack.Start(ctx, stack.Options{
		MemberPrograms: programs,
		Members:        []string{"team-a", "team-b"}, Replicas: 2, Admission: true, ProxyAPI: true,
		ManagerArgs: []string{"--sharding-scale=0.25", "--lost-replica-wait=20s"},
		Sim:         sim.Options{Templates: []string{template, "linux-12", "windows-11"}, CloneDelay: 50 * time.Millisecond, Privileges: slices.Concat(sim.OperatorPrivileges, sim.AdoptionPrivileges)},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := world.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "clean up:", err)
		}
	}()
	code := untilDoorsAreShut(ctx)
	if code == 0 {
		code = m.Run()
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "the managers' last words:\n%s\n", world.LastWords(25))
	}
	return code
}

// memberPrograms creates a directory with the members' kube-apiserver, and etcd.
func memberPrograms(ctx context.Context) (dir string, clean func(), err error) {
	if *members == "" {
		return "", func() {}, nil
	}
	hub, err := assets.Ensure(ctx, os.Stderr)
	if err != nil {
		return "", nil, err
	}
	apiserver, err := assets.Tool(ctx, *members, os.Stderr)
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp("", "vmgroup-skew-"); err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, errors.Join(
		os.Symlink(apiserver, filepath.Join(dir, "kube-apiserver")),
		os.Symlink(filepath.Join(hub, "etcd"), filepath.Join(dir, "etcd")))
}

// untilDoorsAreShut waits until both members have their policies and their webhooks.
func untilDoorsAreShut(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	ctx, ready := world.WhileManagersRun(ctx)
	defer ready()
	for name := range world.Members {
		if err := untilAdmissionReady(ctx, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}
