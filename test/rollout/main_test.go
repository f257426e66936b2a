//go:build unix && slow

package rollout

import (
	"context"
	"fmt"
	"os"
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

// Templates. Each VM carries the name of its own: see mark.
const (
	// early and late have guests that boot and shut down.
	early, late = "early", "late"
	// never has guests that do not boot.
	never = "never"
	// hot is early, and its VMs take more CPUs and memory while they run.
	hot = "hot"
	// plain and other have no guests.
	plain, other = "plain", "other"
)

// mark is the key of extraConfig with the name of a VM's template: a clone has it, too.
const mark = "test.template"

// Members. What restored has is put back to a backup.
const (
	calm, restored = "calm", "restored"
)

// Times of guests.
const (
	boot     = time.Second
	shutdown = 300 * time.Millisecond
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
		Members: []string{calm, restored}, Replicas: 3,
		Sim: sim.Options{Templates: []string{early, late, never, hot, plain, other}, CloneDelay: 50 * time.Millisecond},
		VCenter: func(s *v1alpha1.VCenterSpec) {
			s.Limits = v1alpha1.VCenterLimits{Tasks: 16, TasksPerHost: 16}
		},
	})
	if err != nil {
		return err
	}
	if err := teach(ctx); err != nil {
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

// teach tells the templates' guests how to behave.
func teach(ctx context.Context) error {
	guest := map[string]string{sim.GuestBoot: boot.String(), sim.GuestShutdown: shutdown.String()}
	for name, extra := range map[string]map[string]string{
		early: guest, late: guest, hot: guest, never: {sim.GuestBoot: sim.GuestNever, sim.GuestShutdown: sim.GuestNever}, plain: {}, other: {},
	} {
		keys := map[string]string{mark: name}
		for key, value := range extra {
			keys[key] = value
		}
		path := "/DC0/vm/" + name
		if err := shared.Person.MarkAsVM(ctx, path); err != nil {
			return err
		}
		if err := shared.Person.Set(ctx, path, keys); err != nil {
			return err
		}
		if name == hot {
			if err := shared.Person.AllowHotAdd(ctx, path); err != nil {
				return err
			}
		}
		if err := shared.Person.MarkAsTemplate(ctx, path); err != nil {
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
	shared.Proxy.Reset()
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
