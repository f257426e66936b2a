//go:build unix

package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// rule is a VmGroupPolicy of a test, for namespaces with its name in the label "rule".
type rule struct {
	t    *testing.T
	name string
}

// labels select a namespace for the rule.
func (r rule) labels() map[string]string { return map[string]string{"rule": r.name} }

// newRule creates a policy, which is deleted at the end of the test. See untilAllSay for when it is known.
func newRule(t *testing.T, name string, change func(*v1alpha1.VmGroupPolicySpec)) rule {
	t.Helper()
	r := rule{t, name}
	policy := &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match: v1alpha1.PolicyMatch{
				MemberClusters: []string{"*"}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: r.labels()},
			},
			Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Min: new(int32(0))}}, // see untilKnownIn
		},
	}
	change(&policy.Spec)
	if err := world.Hub.Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := world.Hub.Delete(ctx, policy); err != nil {
			t.Error(err)
		}
	})
	return r
}

// change edits the policy.
func (r rule) change(change func(*v1alpha1.VmGroupPolicySpec)) {
	r.t.Helper()
	policy := &v1alpha1.VmGroupPolicy{}
	if err := world.Hub.Get(r.t.Context(), client.ObjectKey{Name: r.name}, policy); err != nil {
		r.t.Fatal(err)
	}
	base := policy.DeepCopy()
	change(&policy.Spec)
	if err := world.Hub.Patch(r.t.Context(), policy, client.MergeFrom(base)); err != nil {
		r.t.Fatal(err)
	}
}

// untilCounts waits until this many groups match the policy, and this many of them violate it.
func (r rule) untilCounts(matched, violations int32) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d violations by %d groups", violations, matched), func(p *v1alpha1.VmGroupPolicy) bool {
		return p.Status.MatchedGroups == matched && p.Status.Violations == violations
	})
}

func (r rule) until(what string, done func(*v1alpha1.VmGroupPolicy) bool) {
	r.t.Helper()
	policy := &v1alpha1.VmGroupPolicy{}
	await.Until(r.t, "VmGroupPolicy "+r.name+": "+what, func(ctx context.Context) (bool, error) {
		err := world.Hub.Get(ctx, client.ObjectKey{Name: r.name}, policy)
		if err == nil && !done(policy) {
			return false, fmt.Errorf("its status is %+v", policy.Status)
		}
		return err == nil, err
	})
}

// untilKnownIn waits until a member has the policy, and the maximum of CPUs if that is not 0. Its API server must also
// enforce them, which takes a moment longer. The policy must allow groups without VMs, which the default limits do not.
func (r rule) untilKnownIn(p *place, maxCPU int32) {
	r.t.Helper()
	await.Until(r.t, p.member+" to know VmGroupPolicy "+r.name, func(ctx context.Context) (bool, error) {
		limits := &v1alpha1.VmGroupLimits{}
		err := p.Get(ctx, client.ObjectKey{Name: "vmgroup-operator"}, limits)
		return slices.ContainsFunc(limits.Spec.Policies, func(l v1alpha1.LimitsPolicy) bool {
			return l.Name == r.name && (maxCPU == 0 || l.CPU.Max != nil && *l.CPU.Max == int64(maxCPU))
		}), err
	})
	byPolicies := p.pastTheDoor()
	await.Until(r.t, "the API server of "+p.member+" to go by VmGroupPolicy "+r.name, func(ctx context.Context) (bool, error) {
		err := byPolicies.Create(ctx, p.group("probe", 0), client.DryRunAll)
		return err == nil, err
	})
}

// pastTheDoor is a client with the operator's name, whom no webhook checks. The policies in the member do.
func (p *place) pastTheDoor() client.Client {
	p.t.Helper()
	return clientAs(p.t, p.Cluster, localcluster.ProxyUser)
}

// apply creates a group. The API server of a new member needs some seconds for the schemas that mutating admission
// policies match, and returns internal errors until then; these are retried.
func (p *place) apply(g *v1alpha1.VmGroup) {
	p.t.Helper()
	await.Until(p.t, "group "+g.Name+" to be created", func(ctx context.Context) (bool, error) {
		err := p.Create(ctx, g)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			p.t.Fatal(err)
		}
		return err == nil, err
	})
}

// edit merges a patch into a group with a client.
func (p *place) edit(by client.Client, name, patch string) {
	p.t.Helper()
	if err := by.Patch(p.t.Context(), p.group(name, 0), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		p.t.Fatalf("edit %s with %s: %v", name, patch, err)
	}
}

// untilGroup waits until a group is as wanted in a status of its current generation.
func (p *place) untilGroup(what, name string, wanted func(*v1alpha1.VmGroup) bool) *v1alpha1.VmGroup {
	p.t.Helper()
	g := &v1alpha1.VmGroup{}
	await.Until(p.t, fmt.Sprintf("group %s/%s of %s: %s", p.namespace, name, p.member, what), func(ctx context.Context) (bool, error) {
		err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, g)
		if err == nil && (g.Status.ObservedGeneration != g.Generation || !wanted(g)) {
			return false, fmt.Errorf("generation %d, status %+v", g.Generation, g.Status)
		}
		return err == nil, err
	})
	return g
}

func (p *place) untilRunning(name string, vms int32) *v1alpha1.VmGroup {
	p.t.Helper()
	return p.untilGroup(fmt.Sprintf("%d VMs to run", vms), name, func(g *v1alpha1.VmGroup) bool {
		return stack.IsReady(g.Status.Conditions) && g.Status.ReadyReplicas == vms && len(g.Status.VMs) == int(vms)
	})
}

// untilCompliance waits for condition PolicyCompliant and a number of VMs that all run.
func (p *place) untilCompliance(name string, status metav1.ConditionStatus, reason string, vms int32, words ...string) *v1alpha1.VmGroup {
	p.t.Helper()
	var c *metav1.Condition
	g := p.untilGroup(fmt.Sprintf("PolicyCompliant=%s %s with %d VMs", status, reason, vms), name, func(g *v1alpha1.VmGroup) bool {
		c = meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant)
		return c != nil && c.Status == status && c.Reason == reason && len(g.Status.VMs) == int(vms) && g.Status.ReadyReplicas == vms
	})
	for _, w := range words {
		if !strings.Contains(c.Message, w) {
			p.t.Errorf("the message %q does not say %q", c.Message, w)
		}
	}
	return g
}

// vms are the VMs of a group as seen by a vSphere client, by name.
func (p *place) vms(g *v1alpha1.VmGroup) map[string]sim.VM {
	p.t.Helper()
	all, err := world.Person.VMs(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	found := map[string]sim.VM{}
	for _, vm := range all {
		for _, s := range g.Status.VMs {
			if vm.Ref.Value == s.MoRef {
				found[s.Name] = vm
			}
		}
	}
	return found
}

// shaped fails unless a group has this many VMs with this many CPUs each.
func (p *place) shaped(g *v1alpha1.VmGroup, vms int, cpu int32) map[string]sim.VM {
	p.t.Helper()
	found := p.vms(g)
	if len(found) != vms {
		p.t.Errorf("the VMs are %v, want %d", slices.Sorted(maps.Keys(found)), vms)
	}
	for name, vm := range found {
		if vm.CPU != cpu {
			p.t.Errorf("%s has %d CPUs, want %d", name, vm.CPU, cpu)
		}
	}
	return found
}
