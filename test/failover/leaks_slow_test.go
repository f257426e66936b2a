//go:build unix && slow

package failover

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	guest = "guest"
	// goroutinePatience is longer than an idle connection to an API server is kept, which is 90 s.
	goroutinePatience = 100 * time.Second
)

// metric sums a replica's series of a name that have all labels, each written as name="value".
func (s *tale) metric(ctx context.Context, r *stack.Replica, name string, labels ...string) float64 {
	s.Helper()
	var text string
	s.must(await.Condition(ctx, "the metrics of "+r.Name, func(ctx context.Context) (ok bool, err error) {
		text, err = r.Metrics(ctx)
		return err == nil, err
	}))
	sum, found := 0.0, false
series:
	for line := range strings.Lines(text) {
		series, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if base, _, _ := strings.Cut(series, "{"); base != name {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(series, label) {
				continue series
			}
		}
		value, err := strconv.ParseFloat(number, 64)
		s.must(err)
		sum, found = sum+value, true
	}
	if !found {
		s.Fatalf("%s has no metric %s with %v", r.Name, name, labels)
	}
	return sum
}

// noticeable reports whether this many goroutines can be one for each of n rounds. A few start and end with
// connections, or start with a replica's first event.
func noticeable(goroutines, n int) bool { return 4*goroutines > 3*n }

// goroutines returns the number of goroutines of each replica once it does not rise any more. Idle connections to
// vCenter have two each, as many as calls were in flight at a time; they are ended first.
func (s *tale) goroutines(ctx context.Context, replicas []*stack.Replica) map[string]int {
	s.Helper()
	const calm = 5 // readings
	s.Proxy.CutConnections()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := map[string]int{}
	for quiet := 0; quiet < calm; quiet++ {
		for _, r := range replicas {
			now := int(s.metric(ctx, r, "go_goroutines"))
			if before, seen := last[r.Name]; !seen || now > before {
				quiet = 0
			}
			last[r.Name] = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatal(ctx.Err())
		}
	}
	return last
}

// engagements returns how often a replica has engaged the guest, by its log. It is only the unit of the leak, not a
// trusted report.
func (s *tale) engagements(r *stack.Replica) int {
	s.Helper()
	log, err := os.ReadFile(r.Log)
	s.must(err)
	count := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, `"The member is engaged"`) && strings.Contains(line, `"member":"`+guest+`"`) {
			count++
		}
	}
	return count
}

func TestFailoverMembersThatComeAndGoLeaveNoGoroutine(t *testing.T) {
	rounds := memberVisits * *rounds
	ctx, s := story(t)
	same := s.sameProcesses()
	s.load.settle(ctx, t)
	visitor := s.invite(ctx)
	s.visit(ctx, visitor, true) // one-time allocations are no leak
	before, engaged := s.goroutines(ctx, s.Replicas), map[string]int{}
	for _, r := range s.Replicas {
		engaged[r.Name] = s.engagements(r)
	}
	for round := range rounds {
		s.visit(ctx, visitor, round%3 == 0)
	}
	joins := func(r *stack.Replica) int { return s.engagements(r) - engaged[r.Name] }
	for _, r := range s.Replicas {
		if joins(r) < rounds {
			s.Errorf("%s engaged the member %d times, want %d: the story says too little", r.Name, joins(r), rounds)
		}
	}
	s.eventually(ctx, func(now map[string]int) (wrong []string) {
		for _, r := range s.Replicas {
			grown, n := now[r.Name]-before[r.Name], joins(r)
			if noticeable(grown, n) {
				wrong = append(wrong, fmt.Sprintf("%s has %d goroutines more after %d joins", r.Name, grown, n))
			}
		}
		return wrong
	}, before)
	same()
	s.end(ctx)
}

// eventually checks the numbers of goroutines until no error is left: a leak stays, all else ends.
func (s *tale) eventually(ctx context.Context, check func(now map[string]int) (wrong []string), before map[string]int) {
	s.Helper()
	deadline := time.Now().Add(goroutinePatience)
	for {
		now := s.goroutines(ctx, s.Replicas)
		wrong := check(now)
		if len(wrong) == 0 {
			s.Logf("goroutines before %v, now %v", before, now)
			return
		}
		if time.Now().After(deadline) {
			s.Errorf("goroutines before %v, now %v: %s", before, now, strings.Join(wrong, "; "))
			return
		}
	}
}

// invite starts a cluster that can join and leave as a member.
func (s *tale) invite(ctx context.Context) *stack.Cluster {
	s.Helper()
	visitor, err := s.StartCluster(ctx, guest)
	s.must(err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err := s.bid(ctx); err != nil {
			s.Errorf("remove the guest: %v", err)
		}
		if err := visitor.Stop(); err != nil {
			s.Errorf("stop the guest: %v", err)
		}
	})
	s.must(visitor.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	return visitor
}

// visit lets the guest join all replicas and leave. If works is true, a group gets its VMs and is deleted in between.
func (s *tale) visit(ctx context.Context, visitor *stack.Cluster, works bool) {
	s.Helper()
	engaged := map[string]int{}
	for _, r := range s.Replicas {
		engaged[r.Name] = s.engagements(r)
	}
	s.must(s.Join(ctx, guest, visitor.Kubeconfig()))
	s.until(ctx, "the guest to be ready", func() bool {
		object := &v1alpha1.MemberCluster{}
		return s.Hub.Get(ctx, types.NamespacedName{Name: guest}, object) == nil && stack.IsReady(object.Status.Conditions)
	})
	for _, r := range s.Replicas {
		s.until(ctx, r.Name+" to engage the guest", func() bool { return s.engagements(r) > engaged[r.Name] })
	}
	if works {
		group := newGroup("guests", 1)
		s.must(visitor.Create(ctx, group))
		key := client.ObjectKeyFromObject(group)
		s.until(ctx, "the guest's group to have its VM", func() bool { return visitor.Get(ctx, key, group) == nil && fulfilled(group) })
		s.must(visitor.Delete(ctx, group))
		s.until(ctx, "the guest's group to be gone", func() bool { return apierrors.IsNotFound(visitor.Get(ctx, key, group)) })
	}
	s.must(s.bid(ctx))
}

// bid removes the guest and waits for its deletion.
func (s *tale) bid(ctx context.Context) error {
	object := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: guest}}
	if err := s.Hub.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := await.Condition(ctx, "the guest to be gone", func(ctx context.Context) (bool, error) {
		err := s.Hub.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: guest + "-kubeconfig"}}
	return client.IgnoreNotFound(s.Hub.Delete(ctx, secret))
}

func TestFailoverReplicasThatComeAndGoLeaveNoGoroutineInTheOthers(t *testing.T) {
	rounds := replicaVisits * *rounds
	ctx, s := story(t)
	same := s.sameProcesses()
	s.load.settle(ctx, t)
	visit := func() {
		r, err := s.AddReplica(ctx, "visitor")
		s.must(err)
		s.untilShared(ctx)
		s.must(r.Remove())
		s.untilShared(ctx)
	}
	visit() // one-time allocations are no leak
	before := s.goroutines(ctx, s.Replicas)
	s.load.churn(ctx, s.T)
	for range rounds {
		visit()
	}
	s.load.settle(ctx, t)
	s.eventually(ctx, func(now map[string]int) (wrong []string) {
		for _, r := range s.Replicas {
			if grown := now[r.Name] - before[r.Name]; noticeable(grown, rounds) {
				wrong = append(wrong, fmt.Sprintf("%s has %d goroutines more after %d replicas came and went", r.Name, grown, rounds))
			}
		}
		return wrong
	}, before)
	same()
	s.end(ctx)
}

// TestFailoverAReplicaThatHasLostItsBucketsReconcilesNothing disconnects a replica from the hub alone. It still sees
// every change of its member's groups, and must leave them to the new owners.
func TestFailoverAReplicaThatHasLostItsBucketsReconcilesNothing(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	victim := s.busiest(ctx)
	boot := s.bootOf(victim)
	line := s.observer.Timeline()
	of, owned := line.Of(boot), 0
	for _, bucket := range s.bucketOf(ctx) {
		if of(line.Now().Buckets[bucket].Holder) {
			owned++
		}
	}
	lost := lose("refused", victim)
	s.ownedAgain(boot, lost)
	// A pass that was running when its right ended fails, possibly only now.
	s.until(ctx, "the passes that were under way to end", func() bool {
		return s.metric(ctx, victim, "controller_runtime_active_workers", `controller="vmgroup"`) == 0
	})
	before, changes := s.passes(ctx, victim), s.load.changes()
	s.pass(ctx, 20*time.Second)
	// Enough that their passes differ in number from those requested before.
	s.until(ctx, "groups to change", func() bool { return s.load.changes()-changes > int64(5*owned) })
	after, changed := s.passes(ctx, victim), s.load.changes()-changes
	back := time.Now()
	reconnect(victim)
	s.silentAfter(boot, lost.Add(validity), back)
	// A pass that ended before the loss can have requested another one later, at most one for each group. That one
	// runs, finds that the group has another owner and ends in success, without requests or failures.
	if dropped := after["success"] - before["success"]; dropped > owned {
		s.Errorf("%d passes were begun after the loss of %d groups, want one for each at most: before %v, after %v", dropped, owned, before, after)
	}
	delete(before, "success")
	delete(after, "success")
	if !maps.Equal(before, after) {
		s.Errorf("passes after the loss did not only find that the group is another's: before %v, after %v", before, after)
	}
	s.Logf("%d changes of groups after the loss of %d", changed, owned)
	s.untilShared(ctx)
	same()
	s.end(ctx)
}

// passes returns the number of passes of a replica over groups, by result.
func (s *tale) passes(ctx context.Context, r *stack.Replica) map[string]int {
	s.Helper()
	counts := map[string]int{}
	for _, result := range []string{"success", "error", "requeue", "requeue_after"} {
		counts[result] = int(s.metric(ctx, r, "controller_runtime_reconcile_total", `controller="vmgroup"`, `result="`+result+`"`))
	}
	return counts
}
