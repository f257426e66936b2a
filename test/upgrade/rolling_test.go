//go:build unix && upgrade

package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// The groups of namespace rolling, by their numbers. The shape of the first two is edited at each stop. The operator is
// rolled back during the update of the third.
const (
	byCPU = iota
	byTemplate
	halfWay
	rollers
)

// mark is the key of extraConfig with the name of a VM's template: a clone has it, too.
const mark = "test.template"

// templates have the same VM in them.
var templates = []string{template, "vm-operator-template-b", "vm-operator-template-c"}

// rollingSpec is the spec of the i-th group of the namespace.
func rollingSpec(i int) v1alpha1.VmGroupSpec {
	spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: ptr.To[int32](2)}
	if i == halfWay {
		*spec.Replicas = 3
		spec.Readiness = &v1alpha1.Readiness{MinReadySeconds: 3} // so that the update lasts
	}
	return spec
}

// following reports whether the replicas of a stop make VMs follow an edit.
type following bool

const (
	follow following = true
	// mayStay: a replica that does not know updates can be the one that sees the edit.
	mayStay following = false
)

// reshapes edits the shape of groups. The result waits until their VMs have followed. If an older replica can see an
// edit, they can also keep their state. Then they must not change from that moment on, regardless of the group's owner
// and of other edits.
func (s *tale) reshapes(f following) (settle func()) {
	s.Helper()
	if f == follow {
		s.known()
		for _, g := range s.rolling(byCPU, byTemplate) {
			s.startsAsTold(g)
		}
	}
	edited := s.rolling(byCPU, byTemplate)
	for _, g := range edited {
		s.letGo(g)
		now := g.object()
		s.must(g.cluster.Get(s.Context(), client.ObjectKeyFromObject(now), now))
		patch := fmt.Sprintf(`{"spec":{"cpu":%d}}`, now.Spec.CPU%4+1)
		if g.name == name(byTemplate) {
			patch = fmt.Sprintf(`{"spec":{"template":%q}}`, after(now.Spec.Template))
		}
		s.patch(g, patch)
	}
	return func() {
		s.Helper()
		followed, stayed := 0, 0
		for _, g := range edited {
			now := s.is(g, "updated, or left as it was", func(now *v1alpha1.VmGroup) bool {
				return updated(now) || f == mayStay && s.unaware && (notStarted(now) || left(now))
			})
			if updated(now) {
				followed++
				s.shaped(g, now)
				continue
			}
			stayed++
			s.stay(g)
		}
		s.Logf("the VMs of %d edited groups followed, those of %d stayed", followed, stayed)
	}
}

// known waits until the CRDs of the members are those of the tree, and the groups' statuses report pending updates.
func (s *tale) known() {
	s.Helper()
	for _, name := range members {
		mc := &v1alpha1.MemberCluster{}
		s.until("the CRD of "+name+" to be upgraded", func(ctx context.Context) (bool, error) {
			err := s.Hub.Get(ctx, client.ObjectKey{Name: name}, mc)
			return mc.Status.CRDVersion == strconv.Itoa(crd.Version), err
		}, func() string { return stack.Words(mc.Status.Conditions) })
	}
	for _, g := range s.rolling(byCPU, byTemplate, halfWay) {
		s.is(g, "known to the version that updates VMs", func(now *v1alpha1.VmGroup) bool { return now.Status.Rollout != nil })
	}
}

// after is the next of the templates.
func after(name string) string {
	return templates[(slices.Index(templates, name)+1)%len(templates)]
}

// startsAsTold applies the remedy in the condition of a group whose VMs stayed, if they did.
func (s *tale) startsAsTold(g *subject) {
	s.Helper()
	now := s.is(g, "updated, or with the command for the update", func(now *v1alpha1.VmGroup) bool { return updated(now) || notStarted(now) })
	if updated(now) {
		return
	}
	if said := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionUpToDate).Message; !strings.Contains(said, "set spec.updateStrategy.replaceTrigger") {
		s.Errorf("condition UpToDate of %s lacks the command for the update: %s", g, said)
	}
	s.letGo(g)
	s.asked++
	s.patch(g, fmt.Sprintf(`{"spec":{"updateStrategy":{"replaceTrigger":"%d"}}}`, s.asked))
	s.shaped(g, s.is(g, "updated on request", updated))
}

// updated reports whether a group has its requested VMs, and no others.
func updated(g *v1alpha1.VmGroup) bool {
	return fulfilled(g) && g.Status.UpdatedReplicas == *g.Spec.Replicas && upToDate(g) == v1alpha1.ReasonUpToDate
}

func notStarted(g *v1alpha1.VmGroup) bool { return upToDate(g) == v1alpha1.ReasonNotStarted }

// left reports that a version without updates has seen the edit: it does not change VMs.
func left(g *v1alpha1.VmGroup) bool {
	return fulfilled(g) && upToDate(g) == v1alpha1.ReasonRolloutPending
}

// upToDate is the reason reported for the present spec, or empty.
func upToDate(g *v1alpha1.VmGroup) string {
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionUpToDate); c != nil && c.ObservedGeneration == g.Generation {
		return c.Reason
	}
	return ""
}

// shaped checks in vCenter that the VMs of a group match its spec.
func (s *tale) shaped(g *subject, now *v1alpha1.VmGroup) {
	s.Helper()
	vms := s.vmsOf(g)
	if len(vms) != int(*now.Spec.Replicas) {
		s.Errorf("%s has %d VMs, and says that it is updated with %d", g, len(vms), *now.Spec.Replicas)
	}
	for path, vm := range vms {
		if vm.CPU != now.Spec.CPU || vm.Extra[mark] != now.Spec.Template || !vm.On {
			s.Errorf("%s is updated to %d CPUs of %s, and %s is %+v", g, now.Spec.CPU, now.Spec.Template, path, vm)
		}
	}
}

func (s *tale) vmsOf(g *subject) map[string]sim.VM {
	s.Helper()
	all, err := s.Person.VMs(s.Context())
	s.must(err)
	maps.DeleteFunc(all, func(path string, _ sim.VM) bool { return !strings.HasPrefix(path, g.folder+"/") })
	return all
}

// stay records the VMs of a group as unchangeable.
func (s *tale) stay(g *subject) {
	s.Helper()
	vms := s.vmsOf(g)
	s.watch.change(func() { g.kept, g.stays = vms, time.Now() })
}

// letGo ends stay, before the next request for the group. There was no request until then.
func (s *tale) letGo(g *subject) {
	s.Helper()
	since := s.begun
	s.watch.change(func() {
		if !g.stays.IsZero() {
			since = g.stays
		}
		if len(g.kept) == 0 {
			since = time.Time{}
		}
		g.kept, g.stays = map[string]sim.VM{}, time.Time{}
	})
	for _, r := range s.Proxy.Records() {
		if !since.IsZero() && r.Group == string(g.uid) && r.Start.After(since) && strings.Contains(r.UserAgent, "boot") {
			s.Errorf("%s of %s %q for %s at %s, which was to stay as it was since %s", r.Method, r.Object, r.Name, g, r.Start.Format(time.TimeOnly), since.Format(time.TimeOnly))
		}
	}
}

// restless edits fields without an effect on VMs in groups whose VMs stayed, like an autoscaler or a pipeline, until
// the result is called. A replica that sees such an edit first must not take it for the one seen before.
func (s *tale) restless() (end func()) {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	done := make(chan struct{})
	var stayed []*subject
	for _, g := range s.rolling(byCPU, byTemplate) {
		if len(g.kept) > 0 {
			stayed = append(stayed, g)
		}
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for seconds := 100; len(stayed) > 0; seconds++ {
			for _, g := range stayed {
				patch := fmt.Appendf(nil, `{"spec":{"shutdown":{"timeoutSeconds":%d}}}`, 100+seconds%100)
				if err := g.cluster.Patch(ctx, g.object(), client.RawPatch(types.MergePatchType, patch)); err != nil && ctx.Err() == nil {
					s.Errorf("edit %s: %v", g, err)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	s.Cleanup(func() { stop(); <-done })
	return func() { stop(); <-done }
}

// goesHalfWay edits the groups. When it returns, their update is in progress.
func (s *tale) goesHalfWay() {
	s.Helper()
	for _, g := range s.rolling(halfWay) {
		s.letGo(g)
		s.patch(g, fmt.Sprintf(`{"spec":{"template":%q}}`, templates[1]))
	}
	for _, g := range s.rolling(halfWay) {
		s.is(g, "half updated", func(now *v1alpha1.VmGroup) bool { return now.Status.UpdatedReplicas > 0 && !updated(now) })
	}
}

// arrives waits for the end of that update: it continues when a version that knows updates is back.
func (s *tale) arrives() {
	s.Helper()
	for _, g := range s.rolling(halfWay) {
		s.shaped(g, s.is(g, "updated after all", updated))
	}
}

// rolling returns groups of the namespace in both members, by their numbers.
func (s *tale) rolling(numbers ...int) (all []*subject) {
	for _, member := range members {
		for _, i := range numbers {
			all = append(all, s.find(member, rolling, i))
		}
	}
	return all
}

// bounds checks that an update removes no VM before another one runs, and adds at most one.
func (w *watch) bounds(g *subject, desired int, vms map[string]sim.VM) {
	there, on := 0, 0
	for path, vm := range vms {
		if strings.HasPrefix(path, g.folder+"/") {
			there++
			if vm.On {
				on++
			}
		}
	}
	if on < desired || there > desired+1 {
		w.say("bounds "+g.String(), "%s wants %d VMs, and %d of its %d run", g, desired, on, there)
	}
}
