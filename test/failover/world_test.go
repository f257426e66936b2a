//go:build unix

package failover

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template = "vm-operator-template"
	member   = "team-a"
	// namespace of the member's groups.
	namespace = "load"
	// replicaCount is the number of replicas at the beginning of a story.
	replicaCount = 3
	// buckets is the replicas' default.
	buckets = 128
	// patience is the timeout of each wait, long enough for a busy machine.
	patience = 3 * time.Minute
	// cloneTime is long enough for events during a clone.
	cloneTime = 50 * time.Millisecond
)

// world is a hub with several replicas, a member with groups, a vCenter, and an observer of all. It runs one story at a
// time.
type world struct {
	*stack.Stack
	observer *Observer
	load     *load
	// err is why the world could not be started: the next story need not retry.
	err error
}

// theWorld is shared by all stories, one after another: two at a time would overload the cores. It starts at its first
// use: the tests of the checks need none.
var theWorld world

func (w *world) start(ctx context.Context) (err error) {
	w.Stack, err = stack.Start(ctx, stack.Options{
		Members: []string{member}, Replicas: replicaCount,
		Sim: sim.Options{Templates: []string{template}, CloneDelay: cloneTime},
		VCenter: func(s *v1alpha1.VCenterSpec) {
			s.Limits = v1alpha1.VCenterLimits{Tasks: 16, TasksPerHost: 16}
		},
	})
	if err != nil {
		return fmt.Errorf("start the world: %w", err)
	}
	if w.observer, err = Observe(w.Hub.Config, stack.Namespace); err != nil {
		return err
	}
	if err := w.Members[member].Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := w.joined(ctx); err != nil {
		return err
	}
	w.load = newLoad(w.Members[member], *seed)
	return w.load.begin(ctx)
}

// joined waits until the member is served; before that it does not know the groups' kind.
func (w *world) joined(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, ready := w.WhileManagersRun(ctx)
	defer ready()
	object := &v1alpha1.MemberCluster{}
	return await.Condition(ctx, "the member to be joined", func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, types.NamespacedName{Name: member}, object)
		return stack.IsReady(object.Status.Conditions), err
	})
}

func (w *world) stop() error {
	if w.observer != nil {
		w.observer.Close()
	}
	if w.Stack == nil {
		return nil
	}
	return w.Stop()
}

// story gets the world with three healthy replicas that share all buckets evenly, for one test.
func story(t *testing.T) (context.Context, *tale) {
	t.Helper()
	stack.Story(t)
	w := &theWorld
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	t.Cleanup(cancel)
	if w.Stack == nil && w.err == nil {
		w.err = w.start(ctx)
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	s := &tale{T: t, world: w}
	t.Cleanup(s.explain)
	s.heal(ctx)
	s.begin, s.changes = time.Now(), s.load.changes()
	s.load.churn(ctx, s.T)
	return ctx, s
}

// tale is one story in a world.
type tale struct {
	*testing.T
	*world
	// begin of the story, in a healthy state.
	begin time.Time
	// changes is the earlier number of group changes.
	changes int64
}

func (s *tale) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// heal restores three healthy replicas that share all buckets evenly.
func (s *tale) heal(ctx context.Context) {
	s.Helper()
	s.Proxy.Hook(nil)
	var dead []string
	for i, r := range slices.Clone(s.Replicas) {
		r.APIProxy.Hook(nil)
		r.APIProxy.StallWatches(false)
		if r.Alive() {
			_ = r.Continue()
		}
		if i >= replicaCount {
			s.must(r.Remove())
		} else if !r.Alive() {
			dead = append(dead, s.observer.Timeline().BootOf(r.Name))
			s.must(r.Restart(ctx))
		}
	}
	// The buckets of a killed process count as its host's until others have taken them.
	for _, boot := range dead {
		s.until(ctx, "nothing to be owned by a dead process", func() bool { return boot == "" || !s.holds(boot) })
	}
	s.untilShared(ctx)
	// A new replica is busy with the member's caches, and slow with all else.
	for _, r := range s.Replicas {
		s.until(ctx, r.Name+" to engage the member", func() bool { return s.serves(r) })
	}
}

// serves reports whether the current process of a replica has engaged the member, by its log: it is not visible
// otherwise.
func (s *tale) serves(r *stack.Replica) bool {
	s.Helper()
	log, err := os.ReadFile(r.Log)
	s.must(err)
	engaged := false
	for line := range strings.Lines(string(log)) {
		switch {
		case strings.Contains(line, `"msg":"Starting","version"`):
			engaged = false
		case strings.Contains(line, `"The member is engaged"`) && strings.Contains(line, `"member":"`+member+`"`):
			engaged = true
		}
	}
	return engaged
}

// until waits for a condition.
func (s *tale) until(ctx context.Context, what string, condition func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.must(await.Condition(ctx, what, func(context.Context) (bool, error) { return condition(), nil }))
}

// untilShared waits until the replicas share all buckets, with a difference of at most one, and all report ready.
func (s *tale) untilShared(ctx context.Context) {
	s.Helper()
	s.until(ctx, "the replicas to share all buckets evenly", func() bool {
		shares := s.observer.Timeline().Shares()
		least, most := buckets, 0
		for _, r := range s.Replicas {
			least, most = min(least, shares[r.Name]), max(most, shares[r.Name])
		}
		return shares[""] == 0 && len(shares) == len(s.Replicas) && most-least <= 1
	})
	for _, r := range s.Replicas {
		s.until(ctx, r.Name+" to be ready", func() bool { return r.Ready(ctx) })
	}
}

// bootOf returns the process of a replica, from its session.
func (s *tale) bootOf(r *stack.Replica) string {
	s.Helper()
	boot := s.observer.Timeline().BootOf(r.Name)
	if boot == "" {
		s.Fatalf("%s has no session", r.Name)
	}
	return boot
}

// holds reports whether sessions of a process hold any bucket now.
func (s *tale) holds(boot string) bool {
	line := s.observer.Timeline()
	now := line.Now()
	if now == nil {
		return false
	}
	of := line.Of(boot)
	for _, lock := range now.Buckets {
		if of(lock.Holder) {
			return true
		}
	}
	return false
}

// history of the story so far.
func (s *tale) history() History { return NewHistory(s.Proxy.Records()).Since(s.begin) }

// pass advances time under load: the time itself is under test, not an event.
func (s *tale) pass(ctx context.Context, d time.Duration) {
	s.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		s.Fatal(ctx.Err())
	}
}

// sameProcesses returns a check that no replica has ended or was started since.
func (s *tale) sameProcesses() (check func()) {
	pids := map[string]int{}
	for _, r := range s.Replicas {
		pids[r.Name] = r.PID()
	}
	return func() {
		s.Helper()
		for _, r := range s.Replicas {
			if !r.Alive() || r.PID() != pids[r.Name] {
				s.Errorf("%s ended; its last words:\n%s", r.Name, r.Tail(15))
			}
		}
	}
}

// noMoves fails if a bucket changed hands since a moment.
func (s *tale) noMoves(since time.Time, during string) {
	s.Helper()
	if moves := s.observer.Timeline().Moves(since); len(moves) > 0 {
		s.Errorf("%d buckets changed hands %s, first: %s", len(moves), during, moves[0])
	}
}

// silentAfter fails if a process sent a call that changes something after a moment, and before another if that is not
// zero.
func (s *tale) silentAfter(boot string, from, to time.Time) {
	s.Helper()
	for _, c := range s.history().Of(boot).Calls {
		if c.Start.After(from) && (to.IsZero() || c.Start.Before(to)) {
			s.Errorf("%s after its right to act had ended: %s", c.Start.Sub(from).Round(time.Millisecond), c)
		}
	}
}
