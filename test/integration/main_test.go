//go:build unix

// Package integration tests the whole product as its users meet it: the manager's own binary, real API servers for
// a hub and two members, and a simulated vCenter behind a proxy that counts all requests.
//
// The tests share two stacks. Each works in separate namespaces, so that they can run in any order.
package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template = "vm-operator-template"
	// bulk is a VCenter for the same server with a separate root folder, in polling mode: the simulator's watch
	// takes time quadratic in the number of VMs.
	bulk = "bulk"
	// granted is a VCenter that grants team-a some templates only.
	granted = "granted"
)

// world is a stack that stories share. The first story that enters it starts it.
type world struct {
	*stack.Stack
	start func() error
	slots chan struct{}
}

var (
	// calm is for stories without side effects. Several run concurrently: they mostly wait.
	calm = newWorld(6)
	// troubled is for stories that disturb shared components, or count all events: one at a time.
	troubled = newWorld(1)
)

func newWorld(slots int) *world {
	w := &world{slots: make(chan struct{}, slots)}
	w.start = sync.OnceValue(w.begin)
	return w
}

// enter waits until the world has a place for the story, which it keeps to its end.
func (w *world) enter(t *testing.T) *world {
	t.Helper()
	stack.Story(t)
	t.Parallel()
	w.slots <- struct{}{}
	t.Cleanup(func() { <-w.slots })
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	w.Stack, err = stack.Start(ctx, stack.Options{
		Members: []string{"team-a", "team-b"},
		// The product under test passes proxies that can disturb it. The times of sharding are the default ones: on
		// a machine that is busy with other tests, shorter ones expire, and then the manager stops in the middle of
		// any story.
		ProxyAPI: true,
		Sim:      sim.Options{Templates: []string{template, "linux-12", "windows-11"}, CloneDelay: 50 * time.Millisecond, Privileges: slices.Concat(sim.OperatorPrivileges, sim.AdoptionPrivileges, sim.DiskPrivileges)},
	})
	if err != nil {
		return err
	}
	starting, started := w.WhileManagersRun(ctx)
	defer started()
	return w.moreVCenters(starting)
}

// end stops all processes, after some debug output if stories failed. It returns false if the manager's log is not
// machine-readable.
func (w *world) end(failed bool) (readable bool) {
	if w.Stack == nil {
		return true
	}
	readable = w.logIsReadable()
	if failed && w.Manager != nil {
		fmt.Fprintf(os.Stderr, "the manager's last words:\n%s\n", w.Manager.Tail(40))
	}
	if err := w.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
	}
	return readable
}

// logIsReadable checks all logs of a world's managers in all stories: each line is JSON, and none contains
// vCenter's password.
func (w *world) logIsReadable() bool {
	_, err := w.CheckLogs()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the log of the manager:", err)
	}
	return err == nil
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// The worlds limit the number of concurrent stories. A waiting story must not block the others.
	flag.Parse()
	if err := flag.Set("test.parallel", "100"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	for _, w := range []*world{calm, troubled} {
		if !w.end(code != 0) {
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func (w *world) moreVCenters(ctx context.Context) error {
	var standard v1alpha1.VCenter
	if err := w.Hub.Get(ctx, key("", "default"), &standard); err != nil {
		return err
	}
	for name, change := range map[string]func(*v1alpha1.VCenterSpec){
		bulk: func(s *v1alpha1.VCenterSpec) {
			s.Inventory = v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 1}
			s.Limits = v1alpha1.VCenterLimits{Tasks: 16, TasksPerHost: 16}
		},
		granted: func(s *v1alpha1.VCenterSpec) {
			s.Grants = []v1alpha1.Grant{{
				MemberClusters:    []string{"team-a"},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "dev"}},
				Templates:         []string{"linux-*"},
				Datastores:        []string{"no-*"},
			}}
		},
	} {
		vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *standard.Spec.DeepCopy()}
		vcenter.Spec.Folder = name
		change(&vcenter.Spec)
		if err := w.Hub.Create(ctx, vcenter); err != nil {
			return err
		}
	}
	for name := range w.Members {
		member := &v1alpha1.MemberCluster{}
		if err := await.Condition(ctx, "member "+name, func(ctx context.Context) (bool, error) {
			err := w.Hub.Get(ctx, key("", name), member)
			return stack.IsReady(member.Status.Conditions), err
		}); err != nil {
			return err
		}
	}
	return nil
}

func namespaceObject(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}
