//go:build unix

// Package tenancy attacks one member of the whole product from another: the attacker's API server lies, or its
// administrator writes fields that only the operator should write. Proxies and a user observe the operator's calls to
// vCenter and its responses to the attacker. The tests never rely on the operator's own reports.
//
// All stories share one stack. Each has a separate group of the victim and a separate attacker, so that they can run
// concurrently.
package tenancy

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template = "vm-operator-template"
	// deniedTemplate is one that a policy of a story denies.
	deniedTemplate = "denied-golden-image"
	// victim is the attacked member, attackers the one whose API server is behind those of all attackers.
	victim, attackers = "victim", "attackers"
	// root is the operator's folder in vCenter.
	root = "/DC0/vm/vm-operator"
)

// world is the stack that all stories share. The first story that enters it starts it.
type world struct {
	*stack.Stack
	start func() error
	// closers are called when all stories have ended and the manager has stopped.
	closers []func()
}

var shared = newWorld()

func newWorld() *world {
	w := &world{}
	w.start = sync.OnceValue(w.begin)
	return w
}

func (w *world) enter(t *testing.T) *world {
	t.Helper()
	stack.Story(t)
	t.Parallel()
	return w.started(t)
}

func (w *world) started(t *testing.T) *world {
	t.Helper()
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	w.Stack, err = stack.Start(ctx, stack.Options{
		Members: []string{attackers, victim}, Replicas: -1, ProxyAPI: true, HubAPIServerArgs: localcluster.KeepsHistory(),
		Sim: sim.Options{Templates: []string{template, deniedTemplate}, CloneDelay: 20 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	// The cluster itself shows no groups: each attacker shows some of them, as its own.
	hostileapi.Before(w.Members[attackers].Proxy).Lie(func(s hostileapi.Shown) bool { return s.Resource != groups })
	// As in the chart, for a container with this memory limit: otherwise temporary garbage counts, which is not
	// collected on a busy machine.
	if err := os.Setenv("GOMEMLIMIT", strconv.FormatInt(memoryLimit()/10*9, 10)); err != nil {
		return err
	}
	if w.Manager, err = w.StartManager(ctx, "manager", w.Hub); err != nil {
		return err
	}
	ctx, started := w.WhileManagersRun(ctx)
	defer started()
	for name := range w.Members {
		if err := w.UntilServed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// end stops all processes, after some debug output if stories failed.
func (w *world) end(failed bool) {
	if w.Stack == nil {
		return
	}
	if failed {
		fmt.Fprintf(os.Stderr, "the manager's last words:\n%s\n", w.LastWords(40))
	}
	if err := w.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
	}
	for _, closes := range w.closers {
		closes()
	}
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	// Stories mostly wait: the number of processors does not limit them.
	if err := flag.Set("test.parallel", "100"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shared.end(code != 0)
	os.Exit(code)
}
