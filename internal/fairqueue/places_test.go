package fairqueue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// flow of items "tenant/resource/name". Resources can change, and items can be gone.
type flow struct {
	mu    sync.Mutex
	moved map[string]string
	gone  map[string]bool
}

func newFlow() *flow { return &flow{moved: map[string]string{}, gone: map[string]bool{}} }

func (*flow) Tenant(item string) string { return strings.Split(item, "/")[0] }

func (f *flow) Resource(item string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if to, moved := f.moved[item]; moved {
		return to
	}
	return strings.Split(item, "/")[1]
}

func (f *flow) Exists(item string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.gone[item]
}

func (f *flow) move(item, resource string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved[item] = resource
}

func (f *flow) end(item string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone[item] = true
}

// testQueue is a queue with the limits of the controller of groups, and Gets that do not block.
type testQueue struct {
	*Queue[string]

	t    testing.TB
	flow *flow
}

func limitsOf(workers int) Limits {
	return Limits{Workers: workers, PerTenant: max(1, workers/2), PerResource: max(1, workers-workers/4)}
}

func newTestQueue(t testing.TB, workers int) *testQueue {
	f := newFlow()
	q := &testQueue{New("", limitsOf(workers), f, NewBackoff[string](func() float64 { return 0 })), t, f}
	t.Cleanup(q.ShutDown)
	return q
}

// take returns the next item, or "" if none can be handed out.
func (q *testQueue) take() string {
	q.ready.mu.Lock()
	q.ready.fileArrivals()
	next := q.ready.places.next()
	q.ready.mu.Unlock()
	if next == nil {
		return ""
	}
	item, _ := q.Get()
	return item
}

// takes fails unless these items are handed out, in this order, and no more of them if the last is "".
func (q *testQueue) takes(want ...string) {
	q.t.Helper()
	for _, w := range want {
		if got := q.take(); got != w {
			q.t.Fatalf("the queue hands out %q, want %q", got, w)
		}
	}
}

func (q *testQueue) addAll(items ...string) {
	for _, item := range items {
		q.Add(item)
	}
}

func TestASilentTenantTakesNeitherEveryWorkerNorItsResource(t *testing.T) {
	q := newTestQueue(t, 8)
	q.addAll("silent/x/1", "silent/x/2", "silent/x/3", "silent/x/4", "silent/y/5")
	q.takes("silent/x/1", "silent/x/2", "silent/x/3", "silent/x/4", "") // half of the workers
	q.Add("healthy/x/1")
	q.takes("healthy/x/1", "")
	q.Done("silent/x/4")
	q.takes("silent/y/5", "")
	q.addAll("healthy/x/2", "healthy/y/3")
	q.takes("healthy/x/2", "") // two places of each tenant would be more than are free
	q.Done("silent/x/3")
	q.Add("third/x/1")
	q.takes("third/x/1", "")
}

func TestATenantHasNoMorePlacesThanItsLimit(t *testing.T) {
	q := newTestQueue(t, 3)
	q.addAll("m/x/1", "m/y/2")
	q.takes("m/x/1", "")
}

func TestAFullResourceDoesNotDelayAnother(t *testing.T) {
	q := newTestQueue(t, 8) // six places of a resource
	q.addAll("a/x/1", "b/x/1", "a/x/2", "b/x/2", "c/x/1", "c/x/2")
	for range 6 {
		if q.take() == "" {
			t.Fatal("a place of the resource is missing")
		}
	}
	q.addAll("d/x/1", "d/y/2")
	q.takes("d/y/2", "") // the resource has no seventh place
}

func TestDoneFreesAPlaceOfItsTenantAndOfItsResource(t *testing.T) {
	q := newTestQueue(t, 8)
	q.addAll("m/x/1", "m/x/2", "n/x/3", "n/x/4", "o/x/5", "o/x/6")
	for range 6 {
		q.take()
	}
	q.addAll("m/y/tenant-is-full", "p/x/resource-is-full")
	q.takes("")
	q.Done("m/x/1")
	q.takes("p/x/resource-is-full", "m/y/tenant-is-full", "")
}

// The priority of its items does not matter, nor how long they wait.
func TestAPlaceGoesToTheTenantWithTheFewestAndEqualsTakeTurns(t *testing.T) {
	q := newTestQueue(t, 4) // three places of a resource
	for n := range 3 {
		for _, tenant := range []string{"a", "b", "c"} {
			q.addUrgent(fmt.Sprint(tenant, "/x/", n))
		}
	}
	q.takes("a/x/0", "b/x/0", "c/x/0", "")
	q.addAll("z/x/0", "z/x/1")
	for _, step := range []struct{ done, next string }{{"a/x/0", "z/x/0"}, {"z/x/0", "a/x/1"}, {"b/x/0", "b/x/1"}, {"b/x/1", "z/x/1"}} {
		q.Done(step.done)
		q.takes(step.next, "")
	}
}

// A tenant whose only item comes back after each pass would otherwise be new each time, and take each place.
func TestATenantThatComesBackHasNoBetterTurnThanItHad(t *testing.T) {
	q := newTestQueue(t, 1)
	q.addAll("many/x/1", "many/x/2", "single/x/1")
	q.takes("many/x/1", "")
	q.Done("many/x/1")
	q.takes("single/x/1", "")
	q.Done("single/x/1")
	q.Add("single/x/1")
	q.takes("many/x/2", "")
}

func TestAnItemThatUsesAnotherResourceNowWaitsForThatOne(t *testing.T) {
	q := newTestQueue(t, 4) // three places of a resource
	q.addAll("a/x/1", "b/x/1", "c/x/1")
	q.takes("a/x/1", "b/x/1", "c/x/1")
	q.addAll("d/x/1", "d/x/2")
	q.takes("")
	q.flow.move("d/x/2", "y")
	q.Add("d/x/2")
	q.takes("d/x/2", "")
	q.Done("d/x/2")
	q.takes("")
	q.Done("a/x/1")
	q.takes("d/x/1", "")
}

func TestAnItemWhoseResourceChangesWhileItIsAskedForIsAskedAgain(t *testing.T) {
	q := newTestQueue(t, 4) // three places of a resource
	q.addAll("a/x/1", "b/x/1", "c/x/1")
	q.takes("a/x/1", "b/x/1", "c/x/1")
	q.ready.flow = &moving{flow: q.flow, add: func(item string) { q.Add(item) }}
	q.Add("d/x/1")
	q.takes("d/x/1")
}

// moving moves an item while the queue asks for its resource.
type moving struct {
	*flow

	add   func(string)
	asked bool
}

func (m *moving) Resource(item string) string {
	was := m.flow.Resource(item)
	if !m.asked {
		m.asked = true
		m.move(item, "y")
		m.add(item)
	}
	return was
}

// Names that come and go without end must not pile up behind those that wait.
func TestNothingIsKeptOfItemsThatAreGone(t *testing.T) {
	q := newTestQueue(t, 2) // one place of a tenant
	q.addAll("m/x/busy")
	q.takes("m/x/busy")
	for i := range 100 {
		item := fmt.Sprint("m/x/", i)
		q.Prefer(item, i%3)
		q.ready.retry.When(item) // it has failed
		if i%2 == 0 {            // its owner reports that it was deleted
			q.Add(item)
			q.takes("")
			q.Drop(item)
		} else { // it comes back after that
			q.flow.end(item)
			q.addUrgent(item)
			q.takes("")
		}
	}
	for i := range 100 {
		if item := fmt.Sprint("m/x/", i); q.NumRequeues(item) != 0 {
			t.Errorf("failures of %s are counted", item)
		}
	}
	p := q.ready.places
	if n := q.Len() + len(p.entries) + len(p.arrivals) + len(p.asked) + len(p.preferred) + len(p.tenants["m"].lines); n != 0 {
		t.Errorf("%d entries are kept for dropped items: %+v", n, p)
	}
	if q.Done("m/x/busy"); len(p.tenants)+len(p.byResource)+len(p.held) != 0 {
		t.Errorf("places are kept: %+v", p)
	}
}

// Its pass finds out, and forgets what is kept of it elsewhere.
func TestAnItemThatIsGoneIsHandedOutIfThereIsAPlace(t *testing.T) {
	q := newTestQueue(t, 2)
	q.flow.end("m/x/1")
	q.Add("m/x/1")
	q.takes("m/x/1")
}

func TestAnItemThatIsAddedAgainWhileItSeemsGoneIsKept(t *testing.T) {
	q := newTestQueue(t, 2)
	q.Add("m/x/busy")
	q.takes("m/x/busy")
	again := &returning{flow: q.flow, add: func(item string) { q.Add(item) }}
	q.ready.flow = again
	q.Add("m/x/1")
	q.takes("")
	q.Done("m/x/busy")
	q.takes("m/x/1")
}

// returning adds an item again while the queue asks whether it exists.
type returning struct {
	*flow

	add   func(string)
	asked bool
}

func (r *returning) Exists(item string) bool {
	if r.asked {
		return true
	}
	r.asked = true
	r.add(item)
	return false
}

func TestADroppedItemLeavesItsTurnToTheNext(t *testing.T) {
	q := newTestQueue(t, 2)
	q.addAll("m/x/busy", "m/x/gone", "m/x/next")
	q.takes("m/x/busy", "")
	q.Drop("m/x/gone")
	q.Drop("m/x/unknown")
	q.Done("m/x/busy")
	q.takes("m/x/next", "")
	q.Drop("m/x/next") // it is handed out, and keeps its place
	q.Add("m/x/other")
	q.takes("")
	q.Done("m/x/next")
	q.takes("m/x/other", "")
}

func TestTenantsTakeTurns(t *testing.T) {
	q := newTestQueue(t, 8)
	for _, item := range []string{"a/x/1", "a/x/2", "a/x/3", "b/x/1", "b/x/2"} {
		q.Prefer(item, 1)
		q.Add(item)
	}
	q.addAll("c/x/1", "c/x/2", "c/x/3")
	q.addUrgent("c/x/3")
	got := make([]string, 0, 10)
	for range 10 {
		item := q.take()
		got = append(got, item)
		if q.Done(item); item[0] != 'c' {
			q.Add(item)
		}
	}
	if want := strings.Fields("a/x/1 b/x/1 c/x/3 a/x/2 b/x/2 c/x/1 a/x/3 b/x/1 c/x/2 a/x/1"); !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}
