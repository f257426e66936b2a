//go:build unix

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// lookEvery is the interval in which groups and VMs are counted.
const lookEvery = 50 * time.Millisecond

func vmQuota(scope v1alpha1.QuotaScope, vms int32) func(*v1alpha1.VmGroupPolicySpec) {
	return func(s *v1alpha1.VmGroupPolicySpec) {
		s.Quota = &v1alpha1.PolicyQuota{VMs: ptr.To(vms), Scope: scope}
	}
}

func TestGroupsThatTogetherBreakAQuotaAreGrantedInAnOrderThatStays(t *testing.T) {
	stack.Story(t)
	const each, fit, groups = 2, 6, 12
	r := newRule(t, "shared", vmQuota(v1alpha1.QuotaMatch, each*fit))
	places := []*place{newPlace(t, "team-a", r.name, r.labels()), newPlace(t, "team-b", r.name, r.labels())}
	for _, p := range places {
		p.untilAllSay("exceeds the quota", p.group("probe", each*fit+1))
		r.untilKnownIn(p, 0)
		p.apply(p.group("empty", 0)) // the API server accepts groups
	}
	w := watchQuota(t, each*fit, places...)

	var creating sync.WaitGroup
	for i := range groups {
		creating.Go(func() {
			p := places[i%len(places)]
			g := p.group(fmt.Sprintf("vg-%d", i), each)
			err := p.Create(t.Context(), g)
			if apierrors.IsInvalid(err) && strings.Contains(err.Error(), "exceeds the quota") {
				err = p.pastTheDoor().Create(t.Context(), g) // too late for the race; the reconciler is under test
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
	first := w.untilGranted(fit)
	if len(first) != fit {
		t.Fatalf("%d groups were granted what fits %d", len(first), fit)
	}

	world.Replicas[0].Kill()
	r.change(vmQuota(v1alpha1.QuotaMatch, each))
	start(t, world.Replicas[0])
	for _, p := range places {
		p.untilAllSay("exceeds the quota of 2 VMs", p.group("probe", each+1))
	}
	w.untilHeld(groups - fit)
	w.mustBe(first)

	w.delete(first[0])
	kept := first[1:]
	w.mustBe(kept) // there is still more than the tightened quota
	r.change(vmQuota(v1alpha1.QuotaMatch, each*fit))
	again := w.untilGranted(fit)
	for _, name := range kept {
		if !slices.Contains(again, name) {
			t.Errorf("%s lost what it was granted", name)
		}
	}
	w.untilRunning(again, each)
	w.stop()
}

func TestScaleUpsThatTogetherBreakAQuotaAreGrantedWhole(t *testing.T) {
	stack.Story(t)
	const groups, each, quota = 3, 4, 6
	r := newRule(t, "each-namespace", vmQuota(v1alpha1.QuotaNamespace, quota))
	for _, member := range []string{"team-a", "team-b"} {
		p := newPlace(t, member, r.name, r.labels())
		p.untilAllSay("exceeds the quota", p.group("probe", quota+1))
		w := watchQuota(t, quota, p)
		for i := range groups {
			p.apply(p.group(fmt.Sprintf("vg-%d", i), 1))
		}
		for i := range groups {
			p.untilRunning(fmt.Sprintf("vg-%d", i), 1)
		}
		var scaling sync.WaitGroup
		for i := range groups {
			scaling.Go(func() {
				err := p.pastTheDoor().Patch(t.Context(), p.group(fmt.Sprintf("vg-%d", i), 0),
					client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, each)))
				if err != nil {
					t.Error(err)
				}
			})
		}
		scaling.Wait()
		w.untilHeld(groups - 1)
		// The others can report that they wait before the granted one does.
		var winner []string
		await.Until(t, "one group to grow", func(context.Context) (bool, error) {
			winner = w.holding(each)
			return len(winner) > 0, nil
		})
		if len(winner) != 1 {
			t.Fatalf("%v grew; there is room for one", winner)
		}
		w.untilRunning(winner, each)
		w.shrinks(winner[0])
		_, name, _ := strings.Cut(winner[0], "/")
		p.edit(p, name, `{"spec":{"replicas":1}}`)
		await.Until(t, "another group to grow", func(context.Context) (bool, error) {
			next := w.holding(each)
			return len(next) == 1 && next[0] != winner[0], nil
		})
		w.untilRunning(w.holding(each), each)
		w.stop()
	}
}

// quotaWatch counts continuously the grants and VMs of groups. It fails the test if they exceed the quota, or if a
// group loses its grant.
type quotaWatch struct {
	t      *testing.T
	most   int32
	places []*place
	end    context.CancelFunc
	wait   sync.WaitGroup

	mu sync.Mutex
	// granted is the grant of each group, as <member>/<name>; held are those that want more and wait for a quota.
	granted map[string]int32
	held    []string
	// shrinking are groups that can lose their grant.
	shrinking map[string]bool
	looks     int
	greatest  int32
}

func watchQuota(t *testing.T, most int32, places ...*place) *quotaWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &quotaWatch{t: t, most: most, places: places, end: cancel, granted: map[string]int32{}, shrinking: map[string]bool{}}
	w.wait.Go(func() { every(ctx, lookEvery, func() { w.look(ctx) }) })
	t.Cleanup(w.stop)
	return w
}

func (w *quotaWatch) stop() {
	w.end()
	w.wait.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks == 0 {
		w.t.Error("nothing was counted")
	}
	w.t.Logf("%d looks, at most %d VMs were granted or there, the quota is %d", w.looks, w.greatest, w.most)
}

// look counts once. Groups are listed one member at a time. A group that is granted more between two lists is counted
// with less, never with more than it had at the end.
func (w *quotaWatch) look(ctx context.Context) {
	granted, sum := map[string]int32{}, int32(0)
	var held, folders []string
	for _, p := range w.places {
		var list v1alpha1.VmGroupList
		if err := p.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
			w.complain(ctx, "list groups: %v", err)
			return
		}
		for i := range list.Items {
			g := &list.Items[i]
			name := p.member + "/" + g.Name
			if a := g.Status.Admitted; a != nil {
				granted[name] = a.Replicas
				sum += a.Replicas
			}
			if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant); c != nil &&
				c.Reason == v1alpha1.ReasonQuotaExceeded && g.Status.ObservedGeneration == g.Generation {
				held = append(held, name)
			}
			if g.Status.Folder != nil {
				folders = append(folders, g.Status.Folder.Path)
			}
		}
	}
	all, err := world.Person.VMs(ctx)
	if err != nil {
		w.complain(ctx, "list VMs: %v", err)
		return
	}
	vms := int32(0)
	for path := range all {
		if slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(path, f+"/") }) {
			vms++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	w.greatest = max(w.greatest, sum, vms)
	if sum > w.most || vms > w.most {
		w.complain(ctx, "%d VMs were granted and %d are there, the quota is %d: %v", sum, vms, w.most, granted)
	}
	for name, before := range w.granted {
		if granted[name] < before && !w.shrinking[name] {
			w.complain(ctx, "%s was granted %d VMs and has %d", name, before, granted[name])
		}
	}
	w.granted, w.held = granted, held
}

func (w *quotaWatch) complain(ctx context.Context, format string, args ...any) {
	if ctx.Err() == nil {
		w.t.Errorf(format, args...)
	}
}

// holding returns the groups with a grant of this many VMs, sorted.
func (w *quotaWatch) holding(vms int32) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name, n := range w.granted {
		if n == vms {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// untilGranted waits until this many groups were granted VMs, and returns them.
func (w *quotaWatch) untilGranted(groups int) (names []string) {
	w.t.Helper()
	await.Until(w.t, fmt.Sprintf("%d groups to be granted", groups), func(context.Context) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		names = names[:0]
		for name, n := range w.granted {
			if n > 0 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if len(names) < groups {
			return false, fmt.Errorf("granted %v, held %v", w.granted, w.held)
		}
		return true, nil
	})
	return names
}

func (w *quotaWatch) untilHeld(groups int) {
	w.t.Helper()
	await.Until(w.t, fmt.Sprintf("%d groups to be held", groups), func(context.Context) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.held) == groups, nil
	})
}

// mustBe fails unless exactly these have grants, now and for some checks.
func (w *quotaWatch) mustBe(names []string) {
	w.t.Helper()
	w.mu.Lock()
	from := w.looks
	w.mu.Unlock()
	await.Until(w.t, "some looks", func(context.Context) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.looks > from+20, nil
	})
	if now := w.untilGranted(len(names)); !slices.Equal(now, names) {
		w.t.Errorf("granted are %v, want %v", now, names)
	}
}

// shrinks allows a group to lose its grant.
func (w *quotaWatch) shrinks(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shrinking[name] = true
}

// find returns the place of a group, and its name there.
func (w *quotaWatch) find(full string) (*place, string) {
	w.t.Helper()
	member, name, _ := strings.Cut(full, "/")
	i := slices.IndexFunc(w.places, func(p *place) bool { return p.member == member })
	return w.places[i], name
}

func (w *quotaWatch) delete(full string) {
	w.t.Helper()
	w.shrinks(full)
	p, name := w.find(full)
	if err := p.Delete(w.t.Context(), p.group(name, 0)); err != nil {
		w.t.Fatal(err)
	}
	await.Until(w.t, full+" to be gone", func(ctx context.Context) (bool, error) {
		err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, &v1alpha1.VmGroup{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func (w *quotaWatch) untilRunning(names []string, vms int32) {
	w.t.Helper()
	for _, full := range names {
		p, name := w.find(full)
		p.untilRunning(name, vms)
	}
}

// start restarts a killed replica, and returns when it is ready.
func start(t *testing.T, r *stack.Replica) {
	t.Helper()
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, r.Name+" to be ready again", func(ctx context.Context) (bool, error) { return r.Ready(ctx), nil })
}
