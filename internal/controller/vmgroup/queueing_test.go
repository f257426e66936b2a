package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

// requestTime is how long a pass waits for an API server in these tests.
const requestTime = 20 * time.Millisecond

// queueing is a real controller with this package's queue, lanes and retries, and passes that only wait.
type queueing struct {
	limiter *limiter
	queue   workqueue.TypedRateLimitingInterface[mcreconcile.Request]
	// pass is what a pass does once it has its place.
	pass func(mcreconcile.Request) error

	mu   sync.Mutex
	done map[mcreconcile.Request]time.Duration
	// all is closed when as many groups are done as are expected.
	expected int
	all      chan struct{}
}

// startQueueing starts workers, which end with ctx. Each member has a vCenter of its own.
func startQueueing(ctx context.Context, t testing.TB, workers int, pass func(mcreconcile.Request) error) *queueing {
	q := &queueing{limiter: newLimiter(workers), pass: pass, done: map[mcreconcile.Request]time.Duration{}, all: make(chan struct{})}
	began, started := time.Now(), make(chan struct{})
	options := controllerOptions(Options{Workers: workers}, q.limiter, func() float64 { return 0 })
	options.SkipNameValidation = new(true)
	options.Reconciler = reconcile.TypedFunc[mcreconcile.Request](func(_ context.Context, r mcreconcile.Request) (reconcile.Result, error) {
		leave, ok := q.limiter.enter(r, "vcenter-of-"+string(r.ClusterName))
		if !ok {
			return reconcile.Result{}, nil
		}
		defer leave()
		if err := q.pass(r); err != nil {
			return reconcile.Result{}, err
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.done[r] = time.Since(began); len(q.done) == q.expected {
			close(q.all)
		}
		return reconcile.Result{}, nil
	})
	c, err := controller.NewTypedUnmanaged("queueing", options)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Watch(source.TypedFunc[mcreconcile.Request](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error {
		q.queue = queue
		close(started)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := c.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	<-started
	return q
}

// last is when the last group of a member was done, or a test's failure if fewer were.
func (q *queueing) last(t *testing.T, member string, groups int) time.Duration {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	var last time.Duration
	n := 0
	for r, at := range q.done {
		if string(r.ClusterName) == member {
			n++
			last = max(last, at)
		}
	}
	if n != groups {
		t.Fatalf("%d of %d groups of %s are done", n, groups, member)
	}
	return last
}

func waitForARequest(mcreconcile.Request) error {
	<-time.After(requestTime) // on the clock of the bubble
	return nil
}

func TestPassesThatWaitKeepEveryPlaceOfTheirMemberBusy(t *testing.T) {
	const groups, workers = 1000, 16
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		q := startQueueing(ctx, t, workers, waitForARequest)
		for i := range groups {
			q.queue.Add(requestFor("m", fmt.Sprint(i)))
		}
		<-time.After(time.Minute) // on the clock of the bubble
		ideal := groups * requestTime / (workers / 2)
		if last := q.last(t, "m", groups); last > ideal*11/10 {
			t.Errorf("the last is done after %v, %v of work for each place", last, ideal)
		}
	})
}

func TestGroupsThatAreTakenOverHaveTheNextPlaces(t *testing.T) {
	const waiting, taken, workers = 1000, 50, 16
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		q := startQueueing(ctx, t, workers, waitForARequest)
		for i := range waiting {
			q.queue.Add(requestFor("m", fmt.Sprint(i)))
		}
		synctest.Wait()
		for i := range taken {
			r := requestFor("m", fmt.Sprint("taken-", i))
			q.limiter.urgency.raise(r)
			q.queue.Add(r)
		}
		<-time.After(time.Minute) // on the clock of the bubble
		var last time.Duration
		for i := range taken {
			last = max(last, q.done[requestFor("m", fmt.Sprint("taken-", i))])
		}
		if ideal := taken * requestTime / (workers / 2); last == 0 || last > ideal+3*requestTime {
			t.Errorf("the last group that was taken over is done after %v, %v of work for each place", last, ideal)
		}
	})
}

// One limit for all retries makes the groups of healthy members wait behind those of an ill one.
func TestAMemberWhoseWritesFailForTwoSecondsDelaysNobodyElse(t *testing.T) {
	const groups, ill = 600, 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		began := time.Now()
		q := startQueueing(ctx, t, 16, func(r mcreconcile.Request) error {
			if r.ClusterName == "ill" && time.Since(began) < ill {
				return errors.New("etcd leader changed")
			}
			return waitForARequest(r)
		})
		for i := range groups {
			q.queue.Add(requestFor("ill", fmt.Sprint(i)))
		}
		<-time.After(ill / 2) // on the clock of the bubble
		q.queue.Add(requestFor("healthy", "web"))
		<-time.After(time.Minute) // on the clock of the bubble
		if last := q.last(t, "healthy", 1); last > ill/2+2*requestTime {
			t.Errorf("a group of another member is done %v after it came", last-ill/2)
		}
		if last := q.last(t, "ill", groups); last > ill+3*time.Second {
			t.Errorf("the last group of the member is done %v after it was well again", last-ill)
		}
	})
}

func TestPausesAfterFailuresAreOfTheirGroupAndEnd(t *testing.T) {
	waits := false
	random := 0.0
	r := newRetries(func(mcreconcile.Request) bool { return waits }, func() float64 { return random })
	one, other := requestFor("m", "one"), requestFor("m", "other")
	for i, want := range []time.Duration{5, 10, 20, 40} {
		if got := r.When(one); got != want*time.Millisecond {
			t.Errorf("pause %d is %v, want %v ms", i, got, int(want))
		}
	}
	for range 100 {
		r.When(one)
	}
	if got := r.When(one); got != 30*time.Second {
		t.Errorf("after many failures %v", got)
	}
	if got := r.When(other); got != 5*time.Millisecond {
		t.Errorf("another group waits %v", got)
	}
	waits = true
	if r.Forget(one); r.When(one) != 30*time.Second {
		t.Error("a pass that found no place made failures forgotten")
	}
	waits = false
	r.Forget(one)
	if random = 1; r.When(one) != 4*time.Millisecond {
		t.Error("chance does not take off a fifth")
	}
}

// BenchmarkTakeoverOfGroupsWhoseWritesWait takes over 1,000 groups of one member with a write of 20 ms each, in real time. What it
// reports as x-work is the time until the last one is done, beside that of the work divided by the member's places.
func BenchmarkTakeoverOfGroupsWhoseWritesWait(b *testing.B) {
	const groups, workers = 1000, 16
	var ratio float64
	for b.Loop() {
		ctx, end := context.WithCancel(b.Context())
		q := startQueueing(ctx, b, workers, waitForARequest)
		q.expected = groups
		began := time.Now()
		for i := range groups {
			r := requestFor("m", fmt.Sprint(i))
			q.limiter.urgency.raise(r)
			q.queue.Add(r)
		}
		<-q.all
		ratio = max(ratio, time.Since(began).Seconds()/(groups*requestTime/(workers/2)).Seconds())
		end()
	}
	b.ReportMetric(ratio, "x-work")
}
