package vmgroup

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func requestFor(member, name string) mcreconcile.Request {
	return mcreconcile.Request{
		ClusterName: multicluster.ClusterName(member), Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: name}},
	}
}

func TestASilentMemberTakesNeitherEveryWorkerNorItsVCenter(t *testing.T) {
	l := newLimiter(8)
	n := 0
	enter := func(member, vcenter string) (func(), bool) {
		n++
		return l.enter(requestFor(member, fmt.Sprint(n)), vcenter)
	}
	var leave func()
	for i := range 4 {
		var ok bool
		if leave, ok = enter("silent", "x"); !ok {
			t.Fatalf("pass %d of a member was refused", i)
		}
	}
	if _, ok := enter("silent", "y"); ok {
		t.Error("more than half of the workers wait for one member")
	}
	if _, ok := enter("healthy", "x"); !ok {
		t.Error("the silent member keeps others out of the vCenter that they share")
	}
	var queued []mcreconcile.Request
	l.deliverTo(func(r mcreconcile.Request) { queued = append(queued, r) })
	leave()
	if len(queued) != 1 || queued[0] != requestFor("silent", "5") {
		t.Errorf("queued %v, want the fifth pass of the member", queued)
	}
	if !l.urgency.take(queued[0]) {
		t.Error("the fifth pass waits behind others with a place that nobody else can use")
	}
	if _, ok := enter("silent", "y"); ok {
		t.Error("somebody else has the place that was given to the fifth")
	}
	if _, ok := l.enter(queued[0], "y"); !ok {
		t.Error("a place that was given away is not there")
	}
	if _, ok := enter("healthy", "x"); !ok {
		t.Error("the fifth pass of a vCenter was refused")
	}
	if _, ok := enter("healthy", "y"); ok {
		t.Error("a member that has as many places as are free takes one more")
	}
	if _, ok := enter("third", "x"); !ok {
		t.Error("the sixth pass of a vCenter was refused")
	}
	if _, ok := enter("fourth", "x"); ok {
		t.Error("more than three quarters of the workers wait for one vCenter")
	}
	if _, ok := enter("fourth", "y"); !ok {
		t.Error("another vCenter waits for the full one, or a refused pass took a place")
	}
}

func TestAGroupThatWasTakenOverGoesBeforeThoseThatWaitForAPlace(t *testing.T) {
	l := newLimiter(2) // one place
	u := l.urgency
	var queued []string
	l.deliverTo(func(r mcreconcile.Request) { queued = append(queued, r.Name) })
	leave, _ := l.enter(requestFor("m", "first"), "x")
	for _, name := range []string{"a", "b", "c"} {
		l.enter(requestFor("m", name), "x")
	}
	u.pop(requestFor("m", "taken-over"))
	l.enter(requestFor("m", "taken-over"), "x")
	u.pop(requestFor("m", "c")) // waits already
	l.enter(requestFor("m", "c"), "x")
	for _, want := range []string{"taken-over", "c", "a", "b"} {
		leave()
		if got := queued[len(queued)-1]; got != want {
			t.Fatalf("%s has the place, want %s; all: %v", got, want, queued)
		}
		var ok bool
		if leave, ok = l.enter(requestFor("m", want), "x"); !ok {
			t.Fatalf("%s has no place", want)
		}
	}
	if leave(); len(queued) != 4 {
		t.Errorf("queued %v", queued)
	}
}

func TestWhoLeavesMakesRoomInItsMemberAndInItsVCenter(t *testing.T) {
	l := newLimiter(8) // six places of a vCenter
	var queued []string
	l.deliverTo(func(r mcreconcile.Request) { queued = append(queued, r.Name) })
	leave, _ := l.enter(requestFor("m", "1"), "x")
	for _, e := range []struct{ member, name string }{{"m", "2"}, {"n", "3"}, {"n", "4"}, {"o", "5"}, {"o", "6"}} {
		if _, ok := l.enter(requestFor(e.member, e.name), "x"); !ok {
			t.Fatalf("%s has no place", e.name)
		}
	}
	l.enter(requestFor("m", "member-is-full"), "y")
	l.enter(requestFor("p", "vcenter-is-full"), "x")
	if leave(); !slices.Equal(queued, []string{"vcenter-is-full", "member-is-full"}) {
		t.Errorf("queued %v; want both, and that of the member without a place first", queued)
	}
}

// However urgent the groups of a member are, and however long they have waited.
func TestAPlaceGoesToTheMemberWithTheFewestAndEqualsTakeTurns(t *testing.T) {
	l := newLimiter(4) // three places of a vCenter
	var queued []mcreconcile.Request
	l.deliverTo(func(r mcreconcile.Request) { queued = append(queued, r) })
	leave := map[string]func(){}
	n := 0
	come := func(member string) {
		n++
		r := requestFor(member, fmt.Sprint(n))
		if member != "z" {
			l.urgency.pop(r)
		}
		if end, ok := l.enter(r, "x"); ok {
			leave[member] = end
		}
	}
	for range 3 {
		for _, member := range []string{"a", "b", "c"} {
			come(member)
		}
	}
	come("z")
	come("z")
	for _, step := range []struct{ leaves, next string }{{"a", "z"}, {"z", "a"}, {"b", "b"}, {"b", "z"}} {
		leave[step.leaves]()
		got := queued[len(queued)-1]
		if string(got.ClusterName) != step.next {
			t.Fatalf("after %s a group of %s has a place, want one of %s", step.leaves, got.ClusterName, step.next)
		}
		leave[step.next], _ = l.enter(got, "x")
	}
}

// Whatever comes and goes, no lane has more passes than it may, no place stands empty while somebody waits for it, and everybody has a turn.
func TestNoPlaceStandsEmptyWhileSomebodyWaitsForIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLimiter(4)
		u := l.urgency
		var queue []mcreconcile.Request
		l.deliverTo(func(r mcreconcile.Request) { queue = append(queue, r) })
		running, wanted := map[mcreconcile.Request]func(){}, map[mcreconcile.Request]bool{}
		vcenters := map[mcreconcile.Request]string{}
		enter := func(r mcreconcile.Request) {
			if running[r] != nil {
				return // a queue hands nothing out twice
			}
			if leave, ok := l.enter(r, vcenters[r]); ok {
				running[r] = leave
				delete(wanted, r)
			} else {
				wanted[r] = true
			}
		}
		leave := func(r mcreconcile.Request) {
			running[r]()
			delete(running, r)
		}
		names := rapid.IntRange(0, 7)
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 6), 1, 60).Draw(t, "steps") {
			n := names.Draw(t, "name")
			r := requestFor(fmt.Sprint("m", n%3), fmt.Sprint(n))
			switch {
			case step < 2:
				if vcenters[r] == "" || rapid.Bool().Draw(t, "moves") {
					vcenters[r] = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "vcenter")
				}
				if step == 1 && running[r] == nil {
					u.pop(r)
				}
				enter(r)
			case step < 4 && running[r] != nil:
				leave(r)
			case step == 6:
				l.forget(r)
				delete(wanted, r)
				if l.waits(r) {
					t.Fatalf("%v is gone and waits", r)
				}
			case len(queue) > 0:
				next := queue[0]
				queue = queue[1:]
				enter(next)
			}
			l.check(t, len(wanted), len(running))
		}
		for range 1000 {
			if len(queue) > 0 {
				next := queue[0]
				queue = queue[1:]
				enter(next)
			} else {
				for r := range running {
					leave(r)
					break
				}
			}
			l.check(t, len(wanted), len(running))
		}
		if len(wanted)+len(running)+len(l.members)+len(l.byVCenter)+l.taken+len(l.waiting)+len(l.given) != 0 {
			t.Fatalf("left: wanted %v, running %d, limiter %+v", wanted, len(running), l)
		}
	})
}

func (l *limiter) check(t *rapid.T, wanted, running int) {
	if len(l.waiting)+len(l.given) < wanted {
		t.Fatalf("%d want a place, %d wait and %d have one", wanted, len(l.waiting), len(l.given))
	}
	all := 0
	for member, of := range l.members {
		if all += of.taken; of.taken > l.perMember {
			t.Fatalf("%d passes of %s", of.taken, member)
		}
	}
	if all != running+len(l.given) || all != l.taken || all > l.places {
		t.Fatalf("%d of %d places are taken, counted as %d, %d passes run and %d were given one", all, l.places, l.taken, running, len(l.given))
	}
	for vcenter, n := range l.byVCenter {
		if n > l.perVCenter {
			t.Fatalf("%d passes of %s", n, vcenter)
		}
	}
	for r, w := range l.waiting {
		has := l.members[w.lane.member].taken
		if has < l.perMember && has < l.places-all && l.byVCenter[w.lane.vcenter] < l.perVCenter {
			t.Fatalf("%v waits for %+v, which has a place", r, w.lane)
		}
	}
}

// Names that come and go without end must not pile up behind those that wait.
func TestNothingIsKeptOfGroupsThatCameAndWentWhileTheirMemberHadNoPlace(t *testing.T) {
	r := newRig(t)
	member := r.request.ClusterName
	options := controllerOptions(Options{Workers: 4}, r.limiter, func() float64 { return 0 })
	queue := options.NewQueue("", options.RateLimiter)
	defer queue.ShutDown()
	cl, err := r.Clusters.GetCluster(t.Context(), member)
	if err != nil {
		t.Fatal(err)
	}
	handler := r.feed.Groups(r.Reconciler)(member, cl)
	for i := range r.limiter.perMember {
		if _, ok := r.limiter.enter(requestFor(string(member), fmt.Sprint("busy-", i)), "x"); !ok {
			t.Fatalf("pass %d was refused", i)
		}
	}
	for i := range 100 {
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}}
		handler.Create(t.Context(), event.CreateEvent{Object: group}, queue)
		request, _ := queue.Get()
		r.limiter.urgency.keep(request, i%2 == 0)
		queue.AddRateLimited(request) // its last pass failed
		if i%4 < 2 {
			if _, err := r.Reconcile(t.Context(), request); err != nil || !r.limiter.waits(request) {
				t.Fatalf("group %d does not wait: %v", i, err)
			}
		}
		if i%8 == 0 {
			r.Fleet.DeleteGroup(refOf(request)) // a pass can find it gone before the news come
		}
		handler.Delete(t.Context(), event.DeleteEvent{Object: group}, queue)
		if i%4 >= 2 { // it comes out of the queue when it is gone
			if _, err := r.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		queue.Done(request)
		if r.limiter.waits(request) || queue.NumRequeues(request) != 0 {
			t.Fatalf("group %d is gone and waits for a place, or its failures are counted", i)
		}
	}
	of, u := r.limiter.members[string(member)], r.limiter.urgency
	if n := len(of.lines) + len(r.limiter.waiting) + len(u.items) + len(u.lasting) + len(u.out); n != 0 {
		t.Errorf("%d things are kept of groups that are gone: %+v, %+v", n, of, u)
	}
}

// Whoever leaves looks at all lanes, so a member must not have as many of them as it likes.
func TestVCentersThatDoNotExistAreOneLane(t *testing.T) {
	r := newRig(t)
	member := string(r.request.ClusterName)
	for i := range r.limiter.perMember {
		if _, ok := r.limiter.enter(requestFor(member, fmt.Sprint("busy-", i)), "x"); !ok {
			t.Fatalf("pass %d was refused", i)
		}
	}
	r.Fleet.SetGroup(refOf(r.request), r.key(), r.group(), "default")
	r.mustPass()
	for i := range 100 {
		request := requestFor(member, fmt.Sprint(i))
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name, UID: types.UID(request.Name)}}
		r.Fleet.SetGroup(refOf(request), keyOf("member-uid", group), group, fmt.Sprint("vcenter-", i))
		if _, err := r.Reconcile(t.Context(), request); err != nil || !r.limiter.waits(request) {
			t.Fatalf("group %d does not wait: %v", i, err)
		}
	}
	lines := r.limiter.members[member].lines
	if none := lines[""]; len(lines) != 2 || none == nil || none.rest.Len() != 100 {
		t.Errorf("lanes %v, want one for the vCenter that exists and one for those that do not", slices.Sorted(maps.Keys(lines)))
	}
}

func TestAGroupThatIsGoneGivesBackThePlaceThatItWasGiven(t *testing.T) {
	l := newLimiter(2) // one place
	var queued []string
	l.deliverTo(func(r mcreconcile.Request) { queued = append(queued, r.Name) })
	leave, _ := l.enter(requestFor("m", "first"), "x")
	for _, name := range []string{"gone", "next"} {
		l.enter(requestFor("m", name), "x")
	}
	leave()
	if l.forget(requestFor("m", "gone")); !slices.Equal(queued, []string{"gone", "next"}) {
		t.Errorf("%v were given a place", queued)
	}
}

func TestAGroupWithoutAPlaceIsReconciledOnceThereIsOne(t *testing.T) {
	r := newRig(t)
	var queued []mcreconcile.Request
	r.limiter.deliverTo(func(request mcreconcile.Request) { queued = append(queued, request) })
	leave := make([]func(), 0, r.limiter.perMember)
	for i := range r.limiter.perMember {
		l, ok := r.limiter.enter(requestFor(string(r.request.ClusterName), fmt.Sprint(i)), "")
		if !ok {
			t.Fatalf("pass %d was refused", i)
		}
		leave = append(leave, l)
	}
	if result := r.mustPass(); result != (reconcile.Result{}) || len(r.vcenter.Journal()) != 0 {
		t.Errorf("result %+v, calls %v; the pass has no place, and whoever leaves brings it back", result, r.vcenter.Journal())
	}
	leave[0]()
	if len(queued) != 1 || queued[0] != r.request {
		t.Fatalf("queued %v, want %v", queued, r.request)
	}
	if r.mustPass(); len(r.vcenter.Calls(vsphere.OpClone)) != 2 {
		t.Errorf("calls %v, want two clones", r.vcenter.Journal())
	}
	// A group of a member that is gone gives its place back as well.
	r.memberIs(func(m *fleet.Member) { m.State = fleet.Away })
	r.mustPass()
	leave[1]()
	if n := len(r.limiter.members); n != 0 {
		t.Errorf("places of %d members are taken by nobody", n)
	}
}
