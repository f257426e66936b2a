//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// The fleet of the plugin's benchmark. Each member has as many groups that are not ready as its status lists.
const statusMembers, statusGroups, statusVCenters, statusRuns = 50, 20_000, 5, 5

// fleetStatus measures kubectl vmgroup status of a large fleet, as a process.
func fleetStatus(ctx context.Context, s *session, _ *rig) (err error) {
	dir, err := os.MkdirTemp("", "vmgroup-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plugin := filepath.Join(dir, "kubectl-vmgroup")
	build := exec.CommandContext(ctx, "go", "build", "-o", plugin, "./cmd/kubectl-vmgroup") //nolint:gosec // a path of this program
	build.Dir = s.root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	hub, err := localcluster.StartControlPlane(ctx, localcluster.Options{Name: "hub"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.Stop()) }()
	if err := fillHub(ctx, hub); err != nil {
		return err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, hub.Kubeconfig(), 0o600); err != nil {
		return err
	}
	var slowest time.Duration
	var largest int64
	for range statusRuns {
		command := exec.CommandContext(ctx, plugin, "status", "--kubeconfig", kubeconfig) //nolint:gosec // as above
		command.Env = append(os.Environ(), "KUBECACHEDIR="+dir)
		began := time.Now()
		out, err := command.CombinedOutput()
		took := time.Since(began)
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != 1 || !bytes.Contains(out, []byte("TemplateNotFound")) { // groups that are not ready end it with 1
			return fmt.Errorf("status: %w\n%s", err, out)
		}
		used, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return errors.New("the memory of the plugin is not known")
		}
		slowest, largest = max(slowest, took), max(largest, used.Maxrss)
	}
	where := fmt.Sprintf("%d members, %d VCenters, %d groups, of which 10 of each member are not ready; worst of %d", statusMembers, statusVCenters, statusGroups, statusRuns)
	s.add("status/time", slowest.Seconds(), "s", atMost(2), "kubectl vmgroup status; %s", where)
	s.add("status/memory", float64(largest)/1024, "MiB", atMost(150), "its largest resident memory; %s", where)
	return nil
}

// fillHub makes the objects of a large fleet. The plugin reads no VmGroup: the statuses of members and VCenters count them.
func fillHub(ctx context.Context, hub *localcluster.ControlPlane) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(hub.Kubeconfig())
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 1000, 1000
	c, err := client.New(config, client.Options{Scheme: allkinds.Scheme()})
	if err != nil {
		return err
	}
	for _, definition := range crd.Hub() {
		if err := c.Create(ctx, definition); err != nil {
			return err
		}
	}
	if err := await.Condition(ctx, "the kinds to be served", func(ctx context.Context) (bool, error) {
		return errors.Join(c.List(ctx, &v1alpha1.MemberClusterList{}), c.List(ctx, &v1alpha1.VCenterList{})) == nil, nil
	}); err != nil {
		return err
	}
	is := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}
	for i := range statusVCenters {
		vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: vcenterOf(i)}, Spec: v1alpha1.VCenterSpec{Server: "vc.example.com", CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: "vc"}}}
		if err := c.Create(ctx, vc); err != nil {
			return err
		}
		vc.Status.Conditions, vc.Status.ReadyVMs, vc.Status.DesiredVMs = []metav1.Condition{is}, statusGroups/statusVCenters, statusGroups/statusVCenters
		if err := c.Status().Update(ctx, vc); err != nil {
			return err
		}
	}
	for i := range statusMembers {
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("member-", i)}, Spec: v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "member"}}}
		if err := c.Create(ctx, mc); err != nil {
			return err
		}
		notReady := &v1alpha1.NotReadyGroups{Groups: 10, Oldest: new(metav1.Now())}
		for n := range 10 {
			notReady.Worst = append(notReady.Worst, v1alpha1.NotReadyGroup{
				VCenter: vcenterOf(n), Namespace: "shop", Name: fmt.Sprint("web-", n), Reason: "TemplateNotFound", Since: metav1.Now(),
			})
		}
		mc.Status.Conditions, mc.Status.NotReady, mc.Status.Groups = []metav1.Condition{is}, notReady, statusGroups/statusMembers
		if err := c.Status().Update(ctx, mc); err != nil {
			return err
		}
	}
	return nil
}

func vcenterOf(i int) string { return fmt.Sprint("vc-", i%statusVCenters) }
