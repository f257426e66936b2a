//go:build unix && upgrade

package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const template = "vm-operator-template"

var members = []string{"team-a", "team-b"}

// Namespaces of each member.
const (
	// plain has groups under only the default limits.
	plain = "plain"
	// limited has groups that count in one quota over both members.
	limited = "limited"
	// tight has groups that exceed their current policy.
	tight = "tight"
	// busy has groups that are scaled continuously.
	busy = "busy"
	// rolling has groups whose VMs must follow edits.
	rolling = "rolling"
)

// counts are the groups of each namespace in each member: 28, so 56 in both.
var counts = map[string]int{plain: 11, limited: 8, tight: 4, busy: 2, rolling: rollers}

// quota of VMs for the 16 groups with one VM each: two more fit, and two groups will ask for two more each.
const quota = 18

// subject is one group.
type subject struct {
	member, namespace, name string
	cluster                 *stack.Cluster
	uid                     types.UID
	folder                  string
	// kept are the VMs that must not change, by path, in their first seen state.
	kept map[string]sim.VM
	// stays is since when an edited group keeps its state, or zero.
	stays time.Time
}

func (g *subject) String() string { return g.member + "/" + g.namespace + "/" + g.name }

func (g *subject) object() *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name}}
}

// find returns the i-th group of a namespace.
func (s *tale) find(member, namespace string, i int) *subject {
	n := slices.IndexFunc(s.groups, func(g *subject) bool { return g.member == member && g.namespace == namespace && g.name == name(i) })
	return s.groups[n]
}

func name(i int) string { return fmt.Sprintf("vg-%d", i) }

// policies of the hub: a quota over both members, and a limit that is tightened later.
func (s *tale) policies() {
	s.Helper()
	match := func(namespace string) v1alpha1.PolicyMatch {
		return v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"is": namespace}}}
	}
	s.must(s.Hub.Create(s.Context(), &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: limited},
		Spec:       v1alpha1.VmGroupPolicySpec{Match: match(limited), Quota: &v1alpha1.PolicyQuota{Scope: v1alpha1.QuotaMatch, VMs: ptr.To[int32](quota)}},
	}))
	s.must(s.Hub.Create(s.Context(), &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: tight},
		Spec:       v1alpha1.VmGroupPolicySpec{Match: match(tight), Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: ptr.To[int32](4)}}},
	}))
}

// populate creates the groups and waits for their VMs.
func (s *tale) populate() {
	s.Helper()
	for _, member := range members {
		for namespace, count := range counts {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"is": namespace}}}
			s.must(s.Members[member].Create(s.Context(), ns))
			if namespace == plain {
				s.must(s.Members[member].Create(s.Context(), &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: plain, Name: userData}, Type: v1alpha1.UserDataType,
					StringData: map[string]string{"userdata": "#cloud-config"},
				}))
			}
			for i := range count {
				g := &subject{member: member, namespace: namespace, name: name(i), cluster: s.Members[member], kept: map[string]sim.VM{}}
				s.create(g, i)
				s.groups = append(s.groups, g)
			}
		}
	}
	for _, g := range s.groups {
		s.runs(g)
	}
}

func (s *tale) create(g *subject, i int) {
	s.Helper()
	o := g.object()
	o.Spec = v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: ptr.To[int32](1)}
	switch g.namespace {
	case plain:
		*o.Spec.Replicas += int32(i % 2)
		if i == 0 {
			o.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: userData}
		}
		// The first of them is edited, which must not replace its VM: see edited.
		o.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
	case tight:
		o.Spec.CPU = 2
	case rolling:
		o.Spec = rollingSpec(i)
	}
	// The member possibly does not know the policies yet, and the default limits would apply.
	s.until(g.String()+" to be taken", func(ctx context.Context) (bool, error) {
		err := g.cluster.Create(ctx, o)
		return err == nil, err
	}, nil)
	g.uid = o.UID
}

// tighten makes every group of namespace tight violate its policy: half of them with their VMs, and half with their
// spec, so that they are held at their former admission. It does so while no replica runs, which would first update the
// members.
func (s *tale) tighten() {
	s.Helper()
	policy := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: tight}}
	s.must(s.Hub.Patch(s.Context(), policy, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"limits":{"cpu":{"max":1}}}}`))))
	for _, member := range members {
		for i := range counts[tight] / 2 {
			s.patch(s.find(member, tight, i), `{"spec":{"cpu":4}}`)
		}
	}
}

// tightened waits until the groups are held.
func (s *tale) tightened() {
	s.Helper()
	for _, g := range s.in(tight) {
		s.is(g, "held at 2 CPUs", heldAtTwoCPUs)
	}
}

func notCompliant(g *v1alpha1.VmGroup) bool {
	return meta.IsStatusConditionFalse(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant)
}

func heldAtTwoCPUs(g *v1alpha1.VmGroup) bool {
	return notCompliant(g) && g.Status.Admitted != nil && g.Status.Admitted.CPU == 2 && g.Status.ReadyReplicas == 1 && len(g.Status.VMs) == 1
}

// in returns the groups of a namespace in both members.
func (s *tale) in(namespace string) []*subject {
	return slices.DeleteFunc(slices.Clone(s.groups), func(g *subject) bool { return g.namespace != namespace })
}

func (s *tale) patch(g *subject, merge string) {
	s.Helper()
	if err := g.cluster.Patch(s.Context(), g.object(), client.RawPatch(types.MergePatchType, []byte(merge))); err != nil {
		s.Fatalf("patch %s: %v", g, err)
	}
}

// is waits until a group is as wanted, as of its current generation.
func (s *tale) is(g *subject, what string, wanted func(*v1alpha1.VmGroup) bool) *v1alpha1.VmGroup {
	s.Helper()
	now := g.object()
	s.until(fmt.Sprintf("%s to be %s", g, what), func(ctx context.Context) (bool, error) {
		err := g.cluster.Get(ctx, client.ObjectKeyFromObject(now), now)
		return err == nil && now.Status.ObservedGeneration == now.Generation && wanted(now), err
	}, func() string { return said(now) })
	return now
}

func said(g *v1alpha1.VmGroup) string {
	return fmt.Sprintf("it wants %d VMs and has %d; admitted %+v; message %q; %s", *g.Spec.Replicas, len(g.Status.VMs), g.Status.Admitted, g.Status.LastMessage, stack.Words(g.Status.Conditions))
}

// fulfilled reports whether a group has all its requested VMs.
func fulfilled(g *v1alpha1.VmGroup) bool {
	n := *g.Spec.Replicas
	return g.Status.Phase == v1alpha1.PhaseRunning && stack.IsReady(g.Status.Conditions) && g.Status.Replicas == n && g.Status.ReadyReplicas == n &&
		int(n) == len(g.Status.VMs) && len(g.Status.Deleting) == 0
}

func (s *tale) runs(g *subject) *v1alpha1.VmGroup {
	s.Helper()
	now := s.is(g, "as it was asked for", fulfilled)
	g.folder = now.Status.Folder.Path
	return now
}

// keep records the VMs that must not change from now on: all, except those of the busy groups beyond their first.
func (s *tale) keep() {
	s.Helper()
	all, err := s.Person.VMs(s.Context())
	s.must(err)
	for _, g := range s.groups {
		for path, vm := range all {
			if strings.HasPrefix(path, g.folder+"/") && (g.namespace != busy || strings.HasSuffix(path, "-0")) {
				g.kept[path] = vm
			}
		}
	}
}

// clear deletes all groups. None of their objects can be left in vCenter.
func (s *tale) clear() {
	s.Helper()
	for _, g := range s.groups {
		s.must(g.cluster.Delete(s.Context(), g.object()))
	}
	for _, g := range s.groups {
		now := g.object()
		s.until(g.String()+" to be gone", func(ctx context.Context) (bool, error) {
			err := g.cluster.Get(ctx, client.ObjectKeyFromObject(now), now)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}, func() string { return said(now) })
	}
	all, err := s.Person.VMs(s.Context())
	s.must(err)
	maps.DeleteFunc(all, func(path string, _ sim.VM) bool { return !strings.HasPrefix(path, "/DC0/vm/vm-operator/") })
	if len(all) > 0 {
		s.Errorf("VMs left after the groups were deleted: %v", slices.Sorted(maps.Keys(all)))
	}
}
