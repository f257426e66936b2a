//go:build unix && upgrade

package upgrade

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/failover"
)

// TestAnUpdateAndARollbackTouchNoVMAndGrantNothingTwice follows docs/how-to/upgrade.md, forward, back and forward
// again. At each stop users are active: they request more than a quota has left, lose VMs, and edit groups, also during
// an update of their VMs.
func TestAnUpdateAndARollbackTouchNoVMAndGrantNothingTwice(t *testing.T) {
	s := newTale(t)
	s.allowsUserData()
	first, second := s.joins(s.before), s.joins(s.before)
	s.policies()
	s.served()
	s.populate()
	s.must(first.Remove())
	s.must(second.Remove())
	s.tighten()
	first, second = s.joins(s.before), s.joins(s.before)
	s.tightened()
	s.unaware = s.runs(s.rolling(byCPU)[0]).Status.Rollout == nil
	s.keep()
	s.begun = time.Now()
	s.startWatch()
	s.works("before the update", grows, mayStay)

	s.accepted()
	s.crds(s.after)
	third := s.replaced(first, s.after)
	s.works("an old replica and a new one", grows, mayStay)
	fourth := s.replaced(second, s.after)
	s.works("after the update", grows, follow)

	s.goesHalfWay()
	s.crds(s.before)
	fifth := s.replaced(third, s.before)
	s.works("a new replica and an old one", mayGrow, mayStay)
	sixth := s.replaced(fourth, s.before)
	s.works("after the rollback", mayGrow, mayStay)

	s.crds(s.after)
	s.replaced(fifth, s.after)
	s.works("an old replica and a new one again", mayGrow, mayStay)
	s.replaced(sixth, s.after)
	s.works("after the second update", grows, follow)
	s.arrives()

	s.watch.stop()
	s.onlyWhatWasAskedFor()
	s.oneAtATime()
	s.clear()
}

// growth specifies whether groups must grow while there is room in their quota.
type growth bool

const (
	grows growth = true
	// mayGrow: a replica that does not know a newer one's data grants nothing rather than twice.
	mayGrow growth = false
)

// works runs the users' actions at a stop, while others scale the busy groups.
func (s *tale) works(when string, quotaGrows growth, edits following) {
	s.Helper()
	began := time.Now()
	s.Logf("== %s", when)
	settle, reshaped := s.crowd(), s.reshapes(edits)
	s.race(when, quotaGrows)
	for _, member := range members {
		s.loses(s.find(member, limited, counts[limited]-1), fulfilled, 1)
		s.loses(s.find(member, tight, 0), heldAtTwoCPUs, 2)               // it asks for 4
		s.loses(s.find(member, tight, counts[tight]-1), heldAtTwoCPUs, 2) // it was admitted before the policy was tightened
		s.edited(s.find(member, plain, 0))
	}
	settle()
	reshaped()
	s.served()
	s.verdict(when)
	s.Logf("== %s: done after %s", when, time.Since(began).Round(time.Second))
	if s.Failed() {
		s.FailNow()
	}
}

// racers of each member request more at once: enough that replicas of both versions have some of them.
const racers = 3

// race makes groups of both members request more than the quota has left, at the same time. One group gets it, or none if no
// group has to grow.
func (s *tale) race(when string, quotaGrows growth) {
	s.Helper()
	all := make([]*subject, 0, racers*len(members))
	for _, member := range members {
		for i := range racers {
			all = append(all, s.find(member, limited, i))
		}
	}
	var asking sync.WaitGroup
	for _, g := range all {
		asking.Go(func() {
			if err := g.cluster.Patch(s.Context(), g.object(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`))); err != nil {
				s.Errorf("scale %s: %v", g, err)
			}
		})
	}
	asking.Wait()
	grown, held := 0, map[string]int{}
	for _, g := range all {
		now := s.is(g, "granted what it asks for, or held", func(now *v1alpha1.VmGroup) bool {
			return fulfilled(now) || notGranted(now) && now.Status.ReadyReplicas == 1
		})
		if fulfilled(now) {
			grown++
		} else {
			held[meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionPolicyCompliant).Reason]++
		}
	}
	s.Logf("%s: %d of %d groups grew, the others are held: %v", when, grown, len(all), held)
	if grown > 1 || quotaGrows && grown != 1 {
		s.Errorf("%s: %d groups grew, and there is room for one", when, grown)
	}
	for _, g := range all {
		s.patch(g, `{"spec":{"replicas":1}}`)
	}
	for _, g := range all {
		s.runs(g)
	}
}

// notGranted reports that the operator has evaluated a group's request, and does not let it grow.
func notGranted(g *v1alpha1.VmGroup) bool {
	c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant)
	return c != nil && c.Status != metav1.ConditionTrue && c.ObservedGeneration == g.Generation && len(g.Status.VMs) == 1
}

// loses makes a user destroy the VM of a group, which is recreated unchanged.
func (s *tale) loses(g *subject, wanted func(*v1alpha1.VmGroup) bool, cpus int32) {
	s.Helper()
	path := g.folder + "/" + g.name + "-0"
	var lost string
	s.watch.change(func() {
		lost = g.kept[path].Ref.Value
		delete(g.kept, path)
	})
	s.must(s.Person.Destroy(s.Context(), path))
	s.is(g, path+" to be replaced", func(now *v1alpha1.VmGroup) bool { return wanted(now) && now.Status.VMs[0].MoRef != lost })
	all, err := s.Person.VMs(s.Context())
	s.must(err)
	if vm := all[path]; vm.CPU != cpus || !vm.On {
		s.Errorf("%s came back as %+v, want %d CPUs", path, vm, cpus)
	}
	s.watch.change(func() { g.kept[path] = all[path] })
}

// edited gives a group another number of CPUs. Its VM does not get it, because its update strategy is OnDelete; a
// replaced VM does.
func (s *tale) edited(g *subject) {
	s.Helper()
	now := g.object()
	s.must(g.cluster.Get(s.Context(), client.ObjectKeyFromObject(now), now))
	cpus := now.Spec.CPU%2 + 1
	s.patch(g, fmt.Sprintf(`{"spec":{"cpu":%d}}`, cpus))
	admitted := func(now *v1alpha1.VmGroup) bool { return now.Status.Admitted != nil && now.Status.Admitted.CPU == cpus }
	s.is(g, fmt.Sprintf("admitted with %d CPUs", cpus), admitted)
	s.loses(g, func(now *v1alpha1.VmGroup) bool {
		return admitted(now) && now.Status.ReadyReplicas == 1 && len(now.Status.VMs) == 1
	}, cpus)
}

// crowd scales the busy groups until settle is called, which waits for their last requested state.
func (s *tale) crowd() (settle func()) {
	ctx, stop := context.WithCancel(s.Context())
	var running sync.WaitGroup
	all := s.in(busy)
	running.Go(func() {
		tick := time.NewTicker(700 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			g := all[rand.IntN(len(all))]
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 1+rand.IntN(3))
			if err := g.cluster.Patch(ctx, g.object(), client.RawPatch(types.MergePatchType, patch)); err != nil && ctx.Err() == nil {
				s.Errorf("scale %s: %v", g, err)
			}
		}
	})
	s.Cleanup(func() { stop(); running.Wait() })
	return func() {
		s.Helper()
		stop()
		running.Wait()
		for _, g := range all {
			s.runs(g)
		}
	}
}

// onlyWhatWasAskedFor checks the calls at the proxy in front of vCenter since the update began: no changing call
// concerns a group without a request, or a VM that must not change.
func (s *tale) onlyWhatWasAskedFor() {
	s.Helper()
	owners := map[string]*subject{}
	kept := map[string]string{}
	for _, g := range s.groups {
		owners[string(g.uid)] = g
		for path, vm := range g.kept {
			kept[vm.Ref.Value] = path
		}
	}
	calls := map[string]int{}
	for _, r := range s.Proxy.Records() {
		if r.Start.Before(s.begun) || !strings.Contains(r.UserAgent, "boot") {
			continue
		}
		calls[r.Method]++
		g := owners[r.Group]
		switch path := kept[r.Object]; {
		case g == nil:
			s.Errorf("%s of %s %q for group %q, outcome %s: an unexpected call", r.Method, r.Object, r.Name, r.Group, r.Outcome)
		case path != "" && !s.isReplaced(g) && g.namespace != rolling: // for those see letGo
			s.Errorf("%s was called on %s (%s), which must not change", r.Method, path, r.Object)
		case !s.isAsked(g):
			s.Errorf("%s of %s %q for %s, which was not edited", r.Method, r.Object, r.Name, g)
		case strings.HasPrefix(r.Method, "Destroy") && s.isReplaced(g):
			s.Errorf("%s of %s for %s, which was to lose nothing", r.Method, r.Object, g)
		}
	}
	quiet := slices.DeleteFunc(slices.Clone(s.groups), s.isAsked)
	s.Logf("%d unedited groups had no call; of the others: %v", len(quiet), calls)
}

// isReplaced reports whether a group lost its VM at each stop, and never had more than one: the operator created its
// recorded VM.
func (s *tale) isReplaced(g *subject) bool {
	switch g.namespace {
	case limited:
		return g.name == name(counts[limited]-1)
	case tight:
		return g.name == name(0) || g.name == name(counts[tight]-1)
	case plain:
		return g.name == name(0)
	}
	return false
}

// isAsked reports whether a group received any request.
func (s *tale) isAsked(g *subject) bool {
	return s.isReplaced(g) || g.namespace == busy || g.namespace == rolling || g.namespace == limited && g.name < name(racers)
}

// oneAtATime fails if two replicas ever acted on one group at the same time.
func (s *tale) oneAtATime() {
	s.Helper()
	h := failover.NewHistory(s.Proxy.Records()).Since(s.begun)
	for _, o := range h.Overlaps() {
		s.Errorf("%s", o)
	}
	if ok, picture := h.Linearizable(5 * time.Minute); !ok {
		path := filepath.Join(s.ArtifactDir(), "history.html")
		s.Errorf("the history is not one that a lock for each group allows; see %s (%v)", path, picture.Write(path))
	}
	boots := map[string]bool{}
	for _, c := range h.Calls {
		boots[c.Boot] = true
	}
	if since := s.started - 2; len(boots) < since { // without the first two, which ended before
		s.Errorf("%d of %d replicas acted on a group: the story says little", len(boots), since)
	}
	s.Logf("%d calls by %d replicas on %d groups", len(h.Calls), len(boots), len(h.ByGroup()))
}
