//go:build unix

package failover

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// slowCall is a slow call to vCenter.
type slowCall struct {
	s       *tale
	arrived chan struct{}
	counts  chan struct{}
	over    chan struct{}
	once    sync.Once
	boot    string
	method  string
}

// slowCall makes the next call of a method by a process be executed at once and be answered late: by this time
// after count.
func (s *tale) slowCall(ctx context.Context, boot, method string, late time.Duration) *slowCall {
	return s.interrupt(boot, method, func(c *slowCall, _ sim.Call) faultproxy.Fault {
		return faultproxy.Fault{After: func() {
			defer close(c.over)
			select {
			case <-c.counts:
			case <-ctx.Done():
				return
			}
			timer := time.NewTimer(late)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}}
	})
}

// lateCall makes the next call of a method by a process reach vCenter just after its client has canceled it.
func (s *tale) lateCall(ctx context.Context, boot, method string) *slowCall {
	return s.interrupt(boot, method, func(c *slowCall, call sim.Call) faultproxy.Fault {
		defer close(c.over)
		// Otherwise it ends with the story, which reports the awaited event.
		_ = await.Condition(ctx, "the client to give up", func(context.Context) (bool, error) {
			return slices.ContainsFunc(s.Proxy.Records(), func(r sim.Record) bool { return r.Number == call.Number && !r.Closed.IsZero() }), nil
		})
		return faultproxy.Fault{}
	})
}

func (s *tale) interrupt(boot, method string, fault func(*slowCall, sim.Call) faultproxy.Fault) *slowCall {
	c := &slowCall{
		s: s, arrived: make(chan struct{}), counts: make(chan struct{}), over: make(chan struct{}), boot: boot, method: method,
	}
	s.Proxy.Hook(func(call sim.Call) faultproxy.Fault {
		first := false
		if call.Method == method && strings.Contains(call.UserAgent, "boot "+boot+";") {
			c.once.Do(func() { first = true })
		}
		if !first {
			return faultproxy.Fault{}
		}
		close(c.arrived)
		return fault(c, call)
	})
	return c
}

// count begins the time after which the call is answered. Until then it is in flight, for any time.
func (c *slowCall) count() { close(c.counts) }

// wait waits until the call is in flight and returns its start.
func (c *slowCall) wait() time.Time {
	c.s.Helper()
	c.s.await(c.arrived, "a "+c.method+" of "+c.boot)
	for _, r := range c.s.Proxy.Changes(c.method) {
		if r.End.IsZero() && strings.Contains(r.UserAgent, "boot "+c.boot+";") {
			return r.Start
		}
	}
	c.s.Fatal("the call is over already")
	return time.Time{}
}

// end waits until the call is over and lets all calls pass again.
func (c *slowCall) end() {
	c.s.Helper()
	c.s.await(c.over, "the end of the slow "+c.method)
	c.s.Proxy.Hook(nil)
}

func (s *tale) await(event <-chan struct{}, what string) {
	s.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
		s.Fatalf("waiting for %s for %s", what, patience)
	}
}

// inFlight returns the buckets of the groups for which a process had a call in flight at a moment.
func (s *tale) inFlight(ctx context.Context, boot string, moment time.Time) map[int]bool {
	s.Helper()
	bucketOf := s.bucketOf(ctx)
	out := map[int]bool{}
	for _, c := range s.history().Of(boot).Calls {
		if !c.Start.After(moment) && history.EndsAfter(c, moment) {
			out[bucketOf[c.Group]] = true
		}
	}
	return out
}

// busiest returns the replica that owns most groups: one that happens to own none has no calls to disturb.
func (s *tale) busiest(ctx context.Context) *stack.Replica {
	s.Helper()
	line := s.observer.Timeline()
	groups := map[string]int{}
	for _, bucket := range s.bucketOf(ctx) {
		groups[line.Sessions[line.Now().Buckets[bucket].Holder].Host]++
	}
	return slices.MaxFunc(s.Replicas, func(a, b *stack.Replica) int { return cmp.Compare(groups[a.Name], groups[b.Name]) })
}

// bucketOf returns the bucket of each group, by its UID.
func (s *tale) bucketOf(ctx context.Context) map[string]int {
	s.Helper()
	var system corev1.Namespace
	s.must(s.Members[member].Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &system))
	groups := &v1alpha1.VmGroupList{}
	s.must(s.Members[member].List(ctx, groups))
	out := map[string]int{}
	for _, g := range groups.Items {
		out[string(g.UID)] = ring.Bucket(string(system.UID), g.Namespace, g.Name, buckets)
	}
	return out
}
