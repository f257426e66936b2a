package fairqueue

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

func (q *testQueue) addUrgent(item string) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(1)}, item)
}

// serve takes all items, one after the other.
func (q *testQueue) serve() (got []string) {
	for item := q.take(); item != ""; item = q.take() {
		got = append(got, item[4:])
		q.Done(item)
	}
	return got
}

func TestHigherPrioritiesComeFirst(t *testing.T) {
	q := newTestQueue(t, 2)
	q.addAll("m/x/a", "m/x/b", "m/x/c")
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, "m/x/low")
	q.Add("m/x/e")
	q.addUrgent("m/x/c") // waits already
	q.addUrgent("m/x/d") // is new
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(2)}, "m/x/most")
	if got, want := q.serve(), []string{"most", "c", "d", "a", "b", "low", "e"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

func TestTheControllerGetsThePriorityOfAnItem(t *testing.T) {
	q := newTestQueue(t, 2)
	q.addUrgent("m/x/a")
	if item, priority, shutdown := q.GetWithPriority(); item != "m/x/a" || priority != 1 || shutdown {
		t.Errorf("got %s with priority %d, shut down %t", item, priority, shutdown)
	}
}

func TestAPreferredItemGoesFirstEachTime(t *testing.T) {
	q := newTestQueue(t, 2)
	for _, round := range []struct {
		priority int
		want     []string
	}{{1, []string{"c", "a", "b"}}, {1, []string{"c", "a", "b"}}, {0, []string{"a", "b", "c"}}} {
		q.Prefer("m/x/c", round.priority)
		q.addAll("m/x/a", "m/x/b", "m/x/c")
		if got := q.serve(); !slices.Equal(got, round.want) {
			t.Errorf("served %v, want %v", got, round.want)
		}
	}
}

// An item that is added while it is processed comes back with the priority of that Add.
func TestAPriorityOutlastsTheProcessingOfItsItem(t *testing.T) {
	q := newTestQueue(t, 2)
	q.Add("m/x/a")
	q.takes("m/x/a")
	q.addUrgent("m/x/a")
	q.Add("m/x/b")
	q.takes("")
	q.Done("m/x/a")
	if got, want := q.serve(), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

func TestDelaysAreThoseOfClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t, 8)
		began := time.Now()
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Second, Priority: new(1)}, "m/x/later")
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: new(1)}, "m/x/failed")
		for _, want := range []struct {
			item  string
			after time.Duration
		}{{"m/x/failed", firstRetry}, {"m/x/later", time.Second}} {
			item, priority, _ := q.GetWithPriority()
			if after := time.Since(began); item != want.item || after != want.after || priority != 0 {
				t.Errorf("%s comes after %v with priority %d, want %s after %v with 0", item, after, priority, want.item, want.after)
			}
		}
		if n := q.NumRequeues("m/x/failed"); n != 1 {
			t.Errorf("%d failures are counted", n)
		}
		if q.Forget("m/x/failed"); q.NumRequeues("m/x/failed") != 0 {
			t.Error("failures are counted after Forget")
		}
	})
}

// A worker that waits must notice a place that falls free, not only a new item.
func TestAFreePlaceWakesEachWorkerThatCanUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t, 8)
		q.addAll("m/x/1", "m/x/2", "n/x/3", "n/x/4", "o/x/5", "o/x/6", "m/y/a", "p/x/b")
		for range 5 { // of the six places of the resource
			q.take()
		}
		var mu sync.Mutex
		got := map[string]bool{}
		for range 3 {
			go func() {
				item, _ := q.Get()
				mu.Lock()
				defer mu.Unlock()
				got[item] = true
			}()
		}
		synctest.Wait()
		before := len(got)
		q.Done("m/x/1")
		synctest.Wait()
		if before >= 3 || len(got) != 3 && q.take() != "" {
			t.Errorf("%d and then %v are handed out, and more could be", before, slices.Sorted(maps.Keys(got)))
		}
		q.ShutDown()
		synctest.Wait()
	})
}

func TestAfterShutDownNothingIsHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t, 2)
		q.addAll("m/x/1", "m/x/2")
		q.takes("m/x/1")
		ended := make(chan bool)
		go func() {
			_, shutdown := q.Get()
			ended <- shutdown
		}()
		synctest.Wait()
		q.ShutDown()
		if !<-ended {
			t.Error("an item is handed out")
		}
		if q.Done("m/x/1"); !q.ShuttingDown() {
			t.Error("the queue does not say that it ends")
		}
		if _, shutdown := q.Get(); !shutdown {
			t.Error("an item is handed out that waited for a place")
		}
		q.Add("m/x/3")
		q.AddAfter("m/x/4", time.Second)
		q.Drop("m/x/2")
	})
}

func TestADrainWaitsForTheItemsThatWereHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t, 2)
		q.addAll("m/x/1", "m/x/2")
		q.takes("m/x/1")
		drained := make(chan struct{})
		go func() {
			q.ShutDownWithDrain()
			close(drained)
		}()
		synctest.Wait()
		select {
		case <-drained:
			t.Error("the queue is drained while an item is processed")
		default:
		}
		q.Done("m/x/1")
		<-drained
	})
}

// depth returns the metric of a queue.
func depth(t *testing.T, name string) (depth float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "workqueue_depth" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "name" && l.GetValue() == name {
					depth += m.GetGauge().GetValue()
				}
			}
		}
	}
	return depth
}

func TestTheMetricsAreThoseOfAllQueues(t *testing.T) {
	q := &testQueue{New("fairqueue-test", limitsOf(2), newFlow(), NewBackoff[string](func() float64 { return 0 })), t, nil}
	defer q.ShutDown()
	q.addAll("m/x/1", "m/x/2", "m/x/3")
	for _, step := range []struct {
		do   func()
		want float64
	}{{func() {}, 3}, {func() { q.takes("m/x/1") }, 2}, {func() { q.Drop("m/x/2") }, 1}, {func() { q.Done("m/x/1"); q.takes("m/x/3") }, 0}} {
		if step.do(); depth(t, "fairqueue-test") != step.want {
			t.Errorf("depth %v, want %v", depth(t, "fairqueue-test"), step.want)
		}
	}
}

// Whatever comes and goes: each item is handed out once for its Adds, no tenant and no resource has too many places, and no place that a waiting
// item can use stays free.
func TestNoPlaceStaysFreeWhileAnItemWaitsForIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFlow()
		q := &testQueue{New("", limitsOf(4), f, NewBackoff[string](func() float64 { return 0 })), t, f}
		defer q.ShutDown()
		m := model{q: q, waiting: map[string]bool{}, running: map[string]string{}}
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 7), 1, 60).Draw(rt, "steps") {
			n := rapid.IntRange(0, 7).Draw(rt, "name")
			item := fmt.Sprintf("%d/%d/%d", n%3, n%2, n)
			switch step {
			case 0, 1:
				q.Add(item)
				m.waiting[item] = true
			case 2:
				q.addUrgent(item)
				m.waiting[item] = true
			case 3:
				f.move(item, fmt.Sprint(rapid.IntRange(0, 1).Draw(rt, "resource")))
				q.Add(item)
				m.waiting[item] = true
			case 4:
				if q.Drop(item); m.running[item] == "" {
					delete(m.waiting, item)
				}
			case 5:
				q.Prefer(item, rapid.IntRange(0, 2).Draw(rt, "priority"))
			case 6:
				m.done(item)
			default:
				m.take(rt)
			}
			m.check(rt)
		}
		for len(m.waiting)+len(m.running) > 0 {
			for item := range m.running {
				m.done(item)
			}
			m.check(rt)
			if m.take(rt); len(m.running) == 0 && len(m.waiting) > 0 {
				rt.Fatalf("%v wait, and none is handed out", m.waiting)
			}
		}
		if p := q.ready.places; q.Len()+len(p.held)+len(p.byResource)+len(p.tenants)+len(p.arrivals)+len(p.asked) != 0 {
			rt.Fatalf("left: %+v", p)
		}
	})
}

// model is what a queue should have.
type model struct {
	q       *testQueue
	waiting map[string]bool
	// running are the items that were handed out, with the resource that they hold.
	running map[string]string
}

func (m *model) done(item string) {
	if m.running[item] != "" {
		delete(m.running, item)
		m.q.Done(item)
	}
}

func (m *model) take(t *rapid.T) {
	item := m.q.take()
	switch {
	case item == "":
		return
	case !m.waiting[item] || m.running[item] != "":
		t.Fatalf("%s is handed out, and was not added", item)
	}
	delete(m.waiting, item)
	m.running[item] = m.q.flow.Resource(item)
}

func (m *model) check(t *rapid.T) {
	tenants, resources := map[string]int{}, map[string]int{}
	for item, resource := range m.running {
		tenants[m.q.flow.Tenant(item)]++
		resources[resource]++
	}
	limits := limitsOf(4)
	for tenant, n := range tenants {
		if n > limits.PerTenant {
			t.Fatalf("tenant %s has %d places", tenant, n)
		}
	}
	for resource, n := range resources {
		if n > limits.PerResource {
			t.Fatalf("resource %s has %d places", resource, n)
		}
	}
	waits := 0
	free := false
	for item := range m.waiting {
		if m.running[item] != "" {
			continue // it waits for its Done
		}
		waits++
		has := tenants[m.q.flow.Tenant(item)]
		free = free || has < limits.PerTenant && has < limits.Workers-len(m.running) && resources[m.q.flow.Resource(item)] < limits.PerResource
	}
	if m.q.Len() != waits {
		t.Fatalf("%d items wait, want %d", m.q.Len(), waits)
	}
	m.q.ready.mu.Lock()
	defer m.q.ready.mu.Unlock()
	m.q.ready.fileArrivals()
	if next := m.q.ready.places.next(); (next != nil) != free {
		t.Fatalf("the queue has an item to hand out: %t, want %t", next != nil, free)
	}
}

// With the race detector this test finds accesses without a lock.
func TestWorkersAndWritersShareAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, items = 8, 300
		q := newTestQueue(t, workers)
		var mu sync.Mutex
		served, running := map[string]int{}, map[string]int{}
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for {
					item, priority, shutdown := q.GetWithPriority()
					if shutdown {
						return
					}
					mu.Lock()
					served[item]++
					tenant := q.flow.Tenant(item)
					if running[tenant]++; running[tenant] > workers/2 {
						t.Errorf("tenant %s has %d places", tenant, running[tenant])
					}
					again := served[item] < 3
					mu.Unlock()
					<-time.After(time.Millisecond) // on the clock of the bubble
					q.Prefer(item, priority)
					if again {
						q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
					} else {
						q.Forget(item)
					}
					mu.Lock()
					running[tenant]--
					mu.Unlock()
					q.Done(item)
				}
			})
		}
		for w := range 3 {
			go func() {
				for i := range items {
					item := fmt.Sprintf("%d/%d/%d", i%3, i%2, i)
					if q.Add(item); i%5 == w {
						q.addUrgent(item)
					}
					q.Drop(fmt.Sprint("0/0/gone-", i))
				}
			}()
		}
		<-time.After(time.Hour) // on the clock of the bubble
		if len(served) != items || q.Len() != 0 {
			t.Errorf("%d of %d items are served, %d wait", len(served), items, q.Len())
		}
		q.ShutDown()
		all.Wait()
	})
}

func TestTheQueueCountsTheItemsOfEachTenantThatWait(t *testing.T) {
	q := newTestQueue(t, 2)
	waits := func(when string, want map[string]int) {
		t.Helper()
		if got := q.Waiting(); !maps.Equal(got, want) {
			t.Errorf("%s: %v wait, want %v", when, got, want)
		}
	}
	q.addAll("m/x/1", "m/x/2", "m/y/3", "n/x/1")
	q.AddAfter("m/x/4", time.Hour)
	waits("before any is handed out", map[string]int{"m": 3, "n": 1})
	q.takes("m/x/1")
	q.Add("m/x/1")
	q.Add("m/x/2")
	waits("while one is handed out", map[string]int{"m": 2, "n": 1})
	q.Done("m/x/1")
	waits("after one was added while it was handed out", map[string]int{"m": 3, "n": 1})
	q.Drop("n/x/1")
	waits("after one was dropped", map[string]int{"m": 3})
}
