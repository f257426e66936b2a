package vmgroup

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

func requestFor(member, name string) mcreconcile.Request {
	return mcreconcile.Request{
		ClusterName: multicluster.ClusterName(member), Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: name}},
	}
}

// fill makes other groups of the member hold all places that it can have. It returns one of them.
func (r *rig) fill() (one mcreconcile.Request) {
	r.t.Helper()
	for i := range 2 {
		one = requestFor(string(r.request.ClusterName), fmt.Sprint("busy-", i))
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name, UID: types.UID(one.Name)}}
		r.Fleet.SetGroup(refOf(one), keyOf("member-uid", group), group, "default")
		r.queue.Add(one)
		if got, _ := r.queue.Get(); got != one {
			r.t.Fatalf("the queue hands out %v, want %v", got, one)
		}
	}
	return one
}

// isUrgent reports whether the group goes before others when it is added. The queue must be empty
// otherwise.
func (r *rig) isUrgent() bool {
	r.queue.Add(r.request)
	item, priority, _ := r.queue.GetWithPriority()
	r.queue.Done(item)
	return priority == urgent
}

func TestTheControllersQueueLetsMembersTakeTurns(t *testing.T) {
	r := newRig(t)
	for i := range 100 {
		addUrgent(r.queue, requestFor("many", fmt.Sprint(i)))
	}
	r.queue.Add(requestFor("other", "one"))
	for _, want := range []string{"many", "other", "many"} {
		if r, _ := r.queue.Get(); string(r.ClusterName) != want {
			t.Fatalf("a group of %s comes, want one of %s", r.ClusterName, want)
		}
	}
}

// The bounds of an unresponsive member and of a vCenter.
func TestAMemberHasHalfOfThePlacesAndAVCenterThreeQuarters(t *testing.T) {
	for _, want := range []struct{ workers, ofMember, ofVCenter int }{{1, 1, 1}, {3, 1, 3}, {8, 4, 6}, {16, 8, 12}} {
		for of, requests := range map[int]func(i int) mcreconcile.Request{
			want.ofMember:  func(i int) mcreconcile.Request { return requestFor("m", fmt.Sprint(i)) },
			want.ofVCenter: func(i int) mcreconcile.Request { return requestFor(fmt.Sprint("m", i), "web") },
		} {
			synctest.Test(t, func(t *testing.T) {
				queue := newQueue("", want.workers, oneVCenter{}, func() float64 { return 0 })
				var taken atomic.Int64
				for i := range want.workers + 1 {
					queue.Add(requests(i))
					go func() {
						if _, shutdown := queue.Get(); !shutdown {
							taken.Add(1)
						}
					}()
				}
				synctest.Wait()
				if n := taken.Load(); n != int64(of) {
					t.Errorf("%d of %d places are taken, want %d", n, want.workers, of)
				}
				queue.ShutDown()
			})
		}
	}
}

type oneVCenter struct{ vcenterEach }

func (oneVCenter) Resource(mcreconcile.Request) string { return "x" }

// An endless series of names must not pile up behind waiting ones.
func TestNothingIsKeptOfGroupsThatCameAndWentWhileTheirMemberHadNoPlace(t *testing.T) {
	r := newRig(t)
	member := r.request.ClusterName
	cl, err := r.Clusters.GetCluster(t.Context(), member)
	if err != nil {
		t.Fatal(err)
	}
	handler := r.feed.Groups(member, cl)
	busy := r.fill()
	for i := range 100 {
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}}
		before := r.queue.Len()
		handler.Create(t.Context(), event.CreateEvent{Object: group}, r.queue)
		request := requestFor(string(member), group.Name)
		r.queue.Prefer(request, 1-i%2)
		r.queue.AddRateLimited(request) // its last pass failed
		if i%8 == 0 {
			r.Fleet.DeleteGroup(refOf(request)) // a pass can find it deleted before the event comes
		}
		handler.Delete(t.Context(), event.DeleteEvent{Object: group}, r.queue)
		if r.queue.NumRequeues(request) != 0 || r.queue.Len() != before {
			t.Fatalf("deleted group %d is in the queue, or its failures are counted", i)
		}
		r.queue.Add(request) // the delay after its failure ends
	}
	free := requestFor("other", "one")
	r.queue.Add(free)
	if got, _ := r.queue.Get(); got != free {
		t.Fatalf("the queue hands out %v", got)
	}
	if n := r.queue.Len(); n != 0 {
		t.Errorf("%d deleted groups are in the queue", n)
	}
	r.queue.Done(free)
	r.queue.Done(busy)
	r.request = requestFor(string(member), "0")
	if r.isUrgent() {
		t.Error("the queue keeps the priority of a deleted group")
	}
}

// A returning worker checks all lanes, so a member must not have as many of them as it likes.
func TestVCentersThatDoNotExistAreOneLane(t *testing.T) {
	r := newRig(t)
	for i := range 3 {
		request := requestFor("local", fmt.Sprint(i))
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name, UID: types.UID(request.Name)}}
		vcenter, want := fmt.Sprint("vcenter-", i), ""
		if i == 0 {
			vcenter, want = "default", "default"
		}
		r.Fleet.SetGroup(refOf(request), keyOf("member-uid", group), group, vcenter)
		if lane := (flow{r.Reconciler}).Resource(request); lane != want {
			t.Errorf("a group in vCenter %q waits for %q, want %q", vcenter, lane, want)
		}
	}
}

func TestAGroupWithoutAPlaceWaitsUntilThereIsOne(t *testing.T) {
	r := newRig(t)
	busy := r.fill()
	r.queue.Add(r.request)
	r.queue.Add(requestFor("other", "one"))
	if got, _ := r.queue.Get(); got == r.request {
		t.Fatal("the member has a place too many")
	}
	// A cache can have the group before its event arrives, so it waits although the fleet does not know it.
	r.queue.Done(busy)
	if got, _ := r.queue.Get(); got != r.request {
		t.Errorf("the queue hands out %v, want %v", got, r.request)
	}
	// A group of a member that is not engaged does not wait: engaging it lists its groups again.
	r.memberIs(func(m *fleet.Member) { m.State = fleet.Away })
	r.mustPass()
}

// A user can edit many groups at a time, and they have their VMs.
func TestANewGroupIsLookedAtBeforeThoseThatWereEdited(t *testing.T) {
	r := newRig(t)
	cl, err := r.Clusters.GetCluster(t.Context(), v1alpha1.LocalMember)
	if err != nil {
		t.Fatal(err)
	}
	handler := r.feed.Groups(v1alpha1.LocalMember, cl)
	group := func(name string, observed int64) *v1alpha1.VmGroup {
		return &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Generation: observed + 1},
			Status:     v1alpha1.VmGroupStatus{ObservedGeneration: observed},
		}
	}
	for _, name := range []string{"edited", "edited-too"} {
		handler.Update(t.Context(), event.UpdateEvent{ObjectOld: group(name, 3), ObjectNew: group(name, 3)}, r.queue)
	}
	handler.Create(t.Context(), event.CreateEvent{Object: group("new", 0)}, r.queue)
	for _, want := range []string{"new", "edited", "edited-too"} {
		got, _ := r.queue.Get()
		if r.queue.Done(got); got.Name != want {
			t.Errorf("%s comes first, want %s", got.Name, want)
		}
	}
}
