//go:build unix && slow

package massdeletion

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template = "vm-operator-template"
	// root is the operator's folder in vCenter.
	root = "/DC0/vm/vm-operator"
)

// Members, each for one story.
const (
	pruned, trimmed, emptied, single, swept, reapplied = "pruned", "trimmed", "emptied", "single", "swept", "reapplied"
)

// shared is the stack of all stories. The first one starts it.
var shared struct {
	*stack.Stack
	once sync.Once
	err  error
}

func begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	shared.Stack, err = stack.Start(ctx, stack.Options{
		Members: []string{pruned, trimmed, emptied, single, swept, reapplied}, Replicas: 2, ManagerArgs: []string{"--mass-deletion-age=0s"},
		Sim: sim.Options{Templates: []string{template}, CloneDelay: 20 * time.Millisecond, Privileges: slices.Concat(sim.OperatorPrivileges, sim.AdoptionPrivileges)},
		// The simulator's watch takes time quadratic in the number of VMs.
		VCenter: func(s *v1alpha1.VCenterSpec) {
			s.Inventory = v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 1}
			s.Limits = v1alpha1.VCenterLimits{Tasks: 32, TasksPerHost: 32}
		},
	})
	if err != nil {
		return err
	}
	ctx, started := shared.WhileManagersRun(ctx)
	defer started()
	mc := &v1alpha1.MemberCluster{}
	for name := range shared.Members {
		if err := await.Condition(ctx, "member "+name+" to be served", func(ctx context.Context) (bool, error) {
			err := shared.Hub.Get(ctx, client.ObjectKey{Name: name}, mc)
			return err == nil && stack.IsReady(mc.Status.Conditions), err
		}); err != nil {
			return err
		}
	}
	return nil
}

func enter(t *testing.T) {
	t.Helper()
	if shared.once.Do(func() { shared.err = begin() }); shared.err != nil {
		t.Fatal(shared.err)
	}
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if shared.Stack != nil {
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the managers' last words:\n%s\n", shared.LastWords(40))
		}
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "clean up:", err)
		}
	}
	os.Exit(code)
}
