//go:build unix

package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// spare is the lane of the previous test, unless that failed. Tests here run one at a time.
var spare *Lane

func TestMain(m *testing.M) {
	code := m.Run()
	if spare != nil {
		if err := spare.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "clean up:", err)
			code = cmp.Or(code, 1)
		}
	}
	os.Exit(code)
}

// newTestLane returns a lane with only the neighbor's VMs, which nothing disturbs.
func newTestLane(t *testing.T) (context.Context, *Lane) {
	t.Helper()
	stack.Story(t)
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	lane := spare
	spare = nil
	if lane == nil {
		var err error
		if lane, err = NewLane(ctx, os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if !t.Failed() {
			lane.listen()
			spare = lane
		} else if err := lane.Stop(); err != nil {
			t.Error(err)
		}
	})
	return ctx, lane
}

// TestADeletionThatRacesClonesLeavesNothing: a seed selects the moments over the time in which folder, intents,
// clones and power-ons happen. On a busy machine these happen later: if too few clones were raced, more moments
// over twice the time are tried.
func TestADeletionThatRacesClonesLeavesNothing(t *testing.T) {
	const span, longest = 700 * time.Millisecond, 12 * time.Second
	seed, err := ParseSeed(os.Getenv("CRASH_SEED"), 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, lane := newTestLane(t)
	before, err := lane.stack.Person.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	raced, made, madeBefore := 0, 0, lane.clonesMade()
	for n, within := moments, span; made < moments/2; n, within = moreMoments, within*2 {
		if within > longest {
			t.Fatalf("only %d clones were made in %d races: the moments miss what they are to race", made, raced)
		}
		if err := lane.race(ctx, random, raced, n, within); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, lane.Log(40))
		}
		raced, made = raced+n, lane.clonesMade()-madeBefore
	}
	after, err := lane.stack.Person.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, before, after)
	for path, vm := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s survived its group: %+v\n%s", path, vm, lane.said(path))
		}
	}
	t.Logf("%d deletions raced %d clones", raced, made)
}

// said returns the manager's log of a VM's group, and of its sessions.
func (l *Lane) said(path string) string {
	group := ""
	for _, part := range strings.Split(path, "/") {
		if strings.HasPrefix(part, "race-") {
			group = part
		}
	}
	log, err := os.ReadFile(l.stack.Manager.Log)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "\""+group+"\"") || strings.Contains(line, group+"/") || strings.Contains(line, "session") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// race applies n groups, some concurrently, and deletes each at a moment within a time. first is the number of the
// first one.
func (l *Lane) race(ctx context.Context, random *rand.Rand, first, n int, within time.Duration) error {
	const sideBySide = 8
	var g errgroup.Group
	g.SetLimit(sideBySide)
	for i := range n {
		moment := time.Duration(random.Int64N(int64(within)))
		g.Go(func() error {
			race := &trial{lane: l, namespace: fmt.Sprintf("race-%d", first+i), name: "vg"}
			if err := race.deleteAfter(ctx, moment); err != nil {
				return fmt.Errorf("group %d, deleted after %s: %w; %s", first+i, moment, err, race.words(ctx))
			}
			return nil
		})
	}
	return g.Wait()
}

// clonesMade counts the clones that vCenter accepted.
func (l *Lane) clonesMade() int {
	made := 0
	for _, r := range l.stack.Proxy.Records() {
		if r.Method == "CloneVM_Task" && r.Outcome == "ok" {
			made++
		}
	}
	return made
}

func unchanged(t *testing.T, before, after map[string]sim.VM) {
	t.Helper()
	for path, vm := range before {
		if !same(vm, after[path]) {
			t.Errorf("%s was changed: %+v became %+v", path, vm, after[path])
		}
	}
}

// deleteAfter applies a group, deletes it at a moment and waits for its deletion.
func (t *trial) deleteAfter(ctx context.Context, moment time.Duration) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	if err := t.lane.hub().Create(ctx, namespace); err != nil {
		return err
	}
	if err := t.create(ctx, 2); err != nil {
		return err
	}
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := remove(ctx, t); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return await.Condition(ctx, "the group to be gone", func(ctx context.Context) (bool, error) {
		err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(t.object()), &v1alpha1.VmGroup{})
		return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
	})
}

// TestRestartsLeaveOneSessionAndTheVMsAsTheyWere restarts the manager with SIGTERM and SIGKILL in turn.
func TestRestartsLeaveOneSessionAndTheVMsAsTheyWere(t *testing.T) {
	// quiet is far longer than the delay of a report, also on a busy machine.
	const quiet = 6 * time.Second
	ctx, lane := newTestLane(t)
	idle := &trial{lane: lane, namespace: "default", name: neighbor}
	// A delayed report can follow the one that the group is ready.
	if _, err := idle.settle(ctx, quiet); err != nil {
		t.Fatal(err)
	}
	before, err := lane.stack.Person.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g := &v1alpha1.VmGroup{}
	name := client.ObjectKey{Namespace: "default", Name: neighbor}
	if err := lane.hub().Get(ctx, name, g); err != nil {
		t.Fatal(err)
	}
	version := g.ResourceVersion
	for i := range restarts {
		if i%2 == 0 {
			lane.kill()
		} else if err := lane.stack.Manager.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := lane.start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := lane.untilOneSession(ctx); err != nil {
			t.Fatalf("after restart %d: %v", i+1, err)
		}
	}
	if _, err := idle.settle(ctx, quiet); err != nil {
		t.Fatal(err)
	}
	if err := lane.hub().Get(ctx, name, g); err != nil {
		t.Fatal(err)
	}
	if g.ResourceVersion != version {
		t.Errorf("the group was written in %d restarts: version %s, was %s; %s", restarts, g.ResourceVersion, version, idle.words(ctx))
	}
	after, err := lane.stack.Person.VMs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, before, after)
}

// untilOneSession waits until only the current manager is logged in.
func (l *Lane) untilOneSession(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var agents []string
	err := await.Condition(ctx, "the manager's session alone", func(ctx context.Context) (bool, error) {
		if !l.reading() {
			return false, errors.New("the manager has not read vCenter yet")
		}
		sessions, err := l.stack.Person.Sessions(ctx)
		agents = agents[:0]
		for _, s := range sessions {
			agents = append(agents, s.UserAgent)
		}
		return len(sessions) == 1, err
	})
	if err != nil {
		return fmt.Errorf("%w; there are: %s", err, strings.Join(agents, ", "))
	}
	return nil
}
