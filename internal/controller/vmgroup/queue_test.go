package vmgroup

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/event"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func newTestQueue(u *urgency[string]) workqueue.TypedInterface[string] {
	return workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: newUrgentFirst(u)})
}

func TestGroupsTakenOverGoBeforeThoseThatWait(t *testing.T) {
	u := newUrgency[string]()
	q := newTestQueue(u)
	for _, item := range []string{"a", "b", "c"} {
		q.Add(item)
	}
	u.raise("c")
	q.Add("c") // waits already
	u.raise("d")
	q.Add("d") // is new
	var got []string
	for q.Len() > 0 {
		item, _ := q.Get()
		got = append(got, item)
		q.Done(item)
	}
	if want := []string{"c", "d", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

func TestWhatIsUrgentUntilToldOtherwiseGoesFirstEachTime(t *testing.T) {
	u := newUrgency[string]()
	q := newTestQueue(u)
	for _, round := range []struct {
		urgent bool
		want   []string
	}{{true, []string{"c", "a", "b"}}, {true, []string{"c", "a", "b"}}, {false, []string{"a", "b", "c"}}} {
		u.keep("c", round.urgent)
		for _, item := range []string{"a", "b", "c"} {
			q.Add(item)
		}
		var got []string
		for q.Len() > 0 {
			item, _ := q.Get()
			got = append(got, item)
			q.Done(item)
		}
		if !slices.Equal(got, round.want) {
			t.Errorf("served %v, want %v", got, round.want)
		}
	}
}

// However many of the others are urgent, and however often they come back.
func TestMembersTakeTurns(t *testing.T) {
	u := newUrgency[string]()
	memberOf := func(item string) string { return item[:1] }
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
		Queue: newTurns(memberOf, func() workqueue.Queue[string] { return newUrgentFirst(u) }),
	})
	for _, item := range []string{"a1", "a2", "a3", "b1", "b2"} {
		u.keep(item, true)
		q.Add(item)
	}
	for _, item := range []string{"c1", "c2", "c3"} {
		q.Add(item)
	}
	u.raise("c3")
	q.Add("c3")
	for _, want := range []string{"a1", "b1", "c3", "a2", "b2", "c1", "a3", "b1", "c2", "a1"} {
		item, _ := q.Get()
		if item != want {
			t.Fatalf("served %s, want %s", item, want)
		}
		if q.Done(item); item[:1] != "c" {
			q.Add(item)
		}
	}
}

func TestTheControllersQueueLetsMembersTakeTurns(t *testing.T) {
	l := newLimiter(4)
	options := controllerOptions(Options{Workers: 4}, l, func() float64 { return 0 })
	q := options.NewQueue("", options.RateLimiter)
	defer q.ShutDown()
	for i := range 100 {
		r := requestFor("many", fmt.Sprint(i))
		l.urgency.raise(r)
		q.Add(r)
	}
	q.Add(requestFor("other", "one"))
	for _, want := range []string{"many", "other", "many"} {
		if r, _ := q.Get(); string(r.ClusterName) != want {
			t.Fatalf("a group of %s comes, want one of %s", r.ClusterName, want)
		}
	}
}

// Whatever is added, however urgent, comes out once, and equally urgent items in their order.
func TestNoItemIsLostOrServedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUrgency[string]()
		members := rapid.IntRange(1, 3).Draw(t, "members")
		q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: newTurns(
			func(item string) string { return fmt.Sprint(int(item[0]) % members) }, func() workqueue.Queue[string] { return newUrgentFirst(u) },
		)})
		waiting := map[string]bool{}
		for _, step := range rapid.SliceOf(rapid.IntRange(0, 29)).Draw(t, "steps") {
			item := string(rune('a' + step%5))
			switch step / 10 {
			case 0:
				q.Add(item)
				waiting[item] = true
			case 1:
				u.raise(item)
				q.Add(item)
				waiting[item] = true
			case 2:
				if q.Len() == 0 {
					continue
				}
				got, _ := q.Get()
				if !waiting[got] {
					t.Fatalf("served %s, which was not added", got)
				}
				delete(waiting, got)
				q.Done(got)
			}
			if q.Len() != len(waiting) {
				t.Fatalf("length %d, want %d", q.Len(), len(waiting))
			}
		}
		for range len(waiting) {
			got, _ := q.Get()
			if !waiting[got] {
				t.Fatalf("served %s, which was not added", got)
			}
			delete(waiting, got)
			q.Done(got)
		}
	})
}

// Groups that somebody edits are many at a time, and have their VMs.
func TestANewGroupIsLookedAtBeforeThoseThatWereEdited(t *testing.T) {
	r := newRig(t)
	r.limiter = newLimiter(4)
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[mcreconcile.Request](),
		workqueue.TypedRateLimitingQueueConfig[mcreconcile.Request]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[mcreconcile.Request]{
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[mcreconcile.Request]{Queue: newUrgentFirst(r.limiter.urgency)}),
			}),
		})
	defer queue.ShutDown()
	cl, err := r.Clusters.GetCluster(t.Context(), v1alpha1.LocalMember)
	if err != nil {
		t.Fatal(err)
	}
	handler := r.feed.Groups(r.Reconciler)(v1alpha1.LocalMember, cl)
	group := func(name string, observed int64) *v1alpha1.VmGroup {
		return &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Generation: observed + 1},
			Status:     v1alpha1.VmGroupStatus{ObservedGeneration: observed},
		}
	}
	for _, name := range []string{"edited", "edited-too"} {
		handler.Update(t.Context(), event.UpdateEvent{ObjectOld: group(name, 3), ObjectNew: group(name, 3)}, queue)
	}
	handler.Create(t.Context(), event.CreateEvent{Object: group("new", 0)}, queue)
	for _, want := range []string{"new", "edited", "edited-too"} {
		if got, _ := queue.Get(); got.Name != want {
			t.Errorf("%s comes first, want %s", got.Name, want)
		}
	}
}
