//go:build unix && slow

package rollout

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// Templates. Each VM carries the name of its own: see mark.
const (
	// early and late have guests that boot and shut down.
	early, late = "early", "late"
	// never has guests that do not boot.
	never = "never"
	// hot is early, and its VMs accept more CPUs and memory while they run.
	hot = "hot"
	// plain and other have no guests.
	plain, other = "plain", "other"
)

// mark is the key of extraConfig with the name of a VM's template: a clone has it, too.
const mark = "test.template"

// Members. restored is restored from a backup.
const (
	calm, restored = "calm", "restored"
)

// Times of guests.
const (
	boot     = time.Second
	shutdown = 300 * time.Millisecond
)

// shared is the stack of all stories.
var shared = stack.Share(stack.Options{
	Members: []string{calm, restored}, Replicas: 3,
	Sim: sim.Options{Templates: []string{early, late, never, hot, plain, other}, CloneDelay: 50 * time.Millisecond},
	VCenter: func(s *v1alpha1.VCenterSpec) {
		s.Limits = v1alpha1.VCenterLimits{Tasks: 16, TasksPerHost: 16}
	},
}, teach)

// teach defines the behavior of the templates' guests.
func teach(ctx context.Context, s *stack.Stack) error {
	guest := map[string]string{sim.GuestBoot: boot.String(), sim.GuestShutdown: shutdown.String()}
	for name, extra := range map[string]map[string]string{
		early: guest, late: guest, hot: guest, never: {sim.GuestBoot: sim.GuestNever, sim.GuestShutdown: sim.GuestNever}, plain: {}, other: {},
	} {
		keys := map[string]string{mark: name}
		for key, value := range extra {
			keys[key] = value
		}
		path := "/DC0/vm/" + name
		if err := s.Person.MarkAsVM(ctx, path); err != nil {
			return err
		}
		if err := s.Person.Set(ctx, path, keys); err != nil {
			return err
		}
		if name == hot {
			if err := s.Person.AllowHotAdd(ctx, path); err != nil {
				return err
			}
		}
		if err := s.Person.MarkAsTemplate(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func enter(t *testing.T) {
	t.Helper()
	shared.Enter(t)
	shared.Proxy.Reset()
}

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
