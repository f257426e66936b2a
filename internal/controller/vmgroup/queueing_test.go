package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/internal/fairqueue"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// requestTime is how long a pass waits for an API server in these tests.
const requestTime = 20 * time.Millisecond

// queueing is a real controller with this package's queue, and passes that only wait.
type queueing struct {
	queue *fairqueue.Queue[mcreconcile.Request]
	// pass is the work of a pass.
	pass func(mcreconcile.Request) error

	mu   sync.Mutex
	done map[mcreconcile.Request]time.Duration
	// all is closed once the expected number of groups is done.
	expected int
	all      chan struct{}
}

// vcenterEach gives each member a vCenter of its own.
type vcenterEach struct{ flow }

func (vcenterEach) Resource(r mcreconcile.Request) string {
	return "vcenter-of-" + string(r.ClusterName)
}

func (vcenterEach) Exists(mcreconcile.Request) bool { return true }

// startQueueing starts workers, which end with ctx. Each member has a vCenter of its own.
func startQueueing(ctx context.Context, t testing.TB, workers int, pass func(mcreconcile.Request) error) *queueing {
	q := &queueing{queue: newQueue("", workers, vcenterEach{}, func() float64 { return 0 }), pass: pass, done: map[mcreconcile.Request]time.Duration{}, all: make(chan struct{})}
	began := time.Now()
	options := controllerOptions(Options{Workers: workers}, q.queue)
	options.SkipNameValidation = new(true)
	options.Reconciler = reconcile.TypedFunc[mcreconcile.Request](func(_ context.Context, r mcreconcile.Request) (reconcile.Result, error) {
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
	go func() {
		if err := c.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
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
			addUrgent(q.queue, r)
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

// One limit for all retries makes the groups of healthy members wait behind those of a failing one.
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

// Members that answer late, or not at all, keep their maximum number of workers busy, forever.
func TestSlowMembersLeaveWorkersToOthers(t *testing.T) {
	const groups, workers, edited = 1000, 16, 200
	for _, slow := range []int{1, 2, 3} {
		for _, ofUrgent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, urgent %t", slow, ofUrgent), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, end := context.WithCancel(t.Context())
					defer func() {
						end()
						<-time.After(time.Hour) // on the clock of the bubble: all passes have ended then
					}()
					var q *queueing
					q = startQueueing(ctx, t, workers, func(r mcreconcile.Request) error {
						if r.ClusterName == "other" {
							return waitForARequest(r)
						}
						<-time.After(memberapi.Timeout) // on the clock of the bubble
						q.queue.Add(r)
						return nil
					})
					for i := range slow * groups {
						r := requestFor(fmt.Sprint("slow-", i%slow), fmt.Sprint(i))
						q.queue.Prefer(r, map[bool]int{true: urgent}[ofUrgent])
						q.queue.Add(r)
					}
					const before = time.Minute
					<-time.After(before) // on the clock of the bubble
					q.queue.Add(requestFor("other", "one"))
					<-time.After(time.Second) // on the clock of the bubble
					if last := q.last(t, "other", 1); last > before+requestTime {
						t.Errorf("a group of another member is done %v after it came, %v of work", last-before, requestTime)
					}
					for i := range edited {
						q.queue.Add(requestFor("other", fmt.Sprint(i)))
					}
					<-time.After(time.Minute) // on the clock of the bubble
					ideal := edited * requestTime / time.Duration(workers/(slow+1)/2)
					if last := q.last(t, "other", 1+edited) - before - time.Second; last > ideal*11/10 {
						t.Errorf("%d groups of another member are done after %v, %v of work for each place that is left at once", edited, last, ideal)
					}
				})
			})
		}
	}
}

// BenchmarkTakeoverOfGroupsWhoseWritesWait takes over 1,000 groups of one member with a write of 20 ms each, in real time. Its
// x-work is the time until the last one is done, relative to that of the work divided by the member's places.
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
			addUrgent(q.queue, r)
		}
		<-q.all
		ratio = max(ratio, time.Since(began).Seconds()/(groups*requestTime/(workers/2)).Seconds())
		end()
	}
	b.ReportMetric(ratio, "x-work")
}
