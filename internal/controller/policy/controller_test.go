package policy

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// rig is a controller over groups that the test makes.
type rig struct {
	*Reconciler
	t      *testing.T
	now    time.Time
	leads  bool
	cpus   map[string]int32 // by namespace
	counts int
	writes int
}

func (r *rig) Leading() bool { return r.leads }

func newRig(t *testing.T, policies ...*v1alpha1.VmGroupPolicy) *rig {
	t.Helper()
	scheme := allkinds.Scheme()
	r := &rig{t: t, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), leads: true, cpus: map[string]int32{}}
	builder := clientfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.VmGroupPolicy{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				r.writes++
				return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
			},
		})
	for _, p := range policies {
		builder = builder.WithObjects(p)
	}
	r.Reconciler = &Reconciler{
		Client: builder.Build(), Now: func() time.Time { return r.now }, Leader: r,
		Evaluator: evaluator(func(_ context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
			r.counts++
			for namespace, cpu := range r.cpus {
				who := policy.Requester{Member: "m", Namespace: namespace}
				yield(who, set.Evaluate(who, v1alpha1.VmGroupSpec{CPU: cpu, Memory: 1, Template: "t"}, ""))
			}
			return nil
		}),
	}
	return r
}

func (r *rig) pass() reconcile.Result {
	r.t.Helper()
	result, err := r.Reconcile(r.t.Context(), all)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

func (r *rig) status(name string) v1alpha1.VmGroupPolicyStatus {
	r.t.Helper()
	var p v1alpha1.VmGroupPolicy
	if err := r.Client.Get(r.t.Context(), types.NamespacedName{Name: name}, &p); err != nil {
		r.t.Fatal(err)
	}
	return p.Status
}

func maxCPU(name string, n int32, match v1alpha1.PolicyMatch) *v1alpha1.VmGroupPolicy {
	return &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 3},
		Spec:       v1alpha1.VmGroupPolicySpec{Match: match, Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: &n}}},
	}
}

func TestGroupsAreCountedByPolicy(t *testing.T) {
	r := newRig(t, maxCPU("loose", 8, v1alpha1.PolicyMatch{}), maxCPU("tight", 2, v1alpha1.PolicyMatch{Exclude: []string{"c"}}))
	r.cpus = map[string]int32{"a": 1, "b": 4, "c": 16}
	if result := r.pass(); result.RequeueAfter != countInterval {
		t.Errorf("the next count is in %s", result.RequeueAfter)
	}
	for name, want := range map[string]tally{"loose": {3, 1}, "tight": {2, 1}} {
		s := r.status(name)
		if got := (tally{s.MatchedGroups, s.Violations}); got != want || s.ObservedGeneration != 3 {
			t.Errorf("%s is counted %+v of generation %d, want %+v", name, got, s.ObservedGeneration, want)
		}
		if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != v1alpha1.ReasonPolicyInForce {
			t.Errorf("%s: condition %+v", name, c)
		}
	}
	before := r.writes
	r.now = r.now.Add(time.Hour)
	if r.pass(); r.writes != before {
		t.Errorf("%d writes although nothing changed", r.writes-before)
	}
	r.cpus["b"] = 1
	r.now = r.now.Add(time.Hour)
	if r.pass(); r.writes != before+1 || r.status("tight").Violations != 0 {
		t.Errorf("%d writes, %d violations", r.writes-before, r.status("tight").Violations)
	}
}

func TestAPolicyThatCannotBeUsedSaysWhy(t *testing.T) {
	broken := maxCPU("broken", 1, v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Nonsense"}},
	}})
	warns := broken.DeepCopy()
	warns.Name, warns.Spec.Mode = "warns", v1alpha1.PolicyWarn
	r := newRig(t, broken, warns)
	r.pass()
	words := make([]string, 0, 2)
	for _, name := range []string{"broken", "warns"} {
		c := meta.FindStatusCondition(r.status(name).Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonPolicyInvalid {
			t.Fatalf("%s: condition %+v", name, c)
		}
		words = append(words, c.Message)
	}
	if words[0] == words[1] {
		t.Errorf("a policy that only warns is said to hold groups: %q", words[1])
	}
}

func TestAPolicySaysWhichDefaultLimitsItReplaces(t *testing.T) {
	one := maxCPU("one", 8, v1alpha1.PolicyMatch{})
	two := one.DeepCopy()
	two.Name, two.Spec.Limits.Replicas = "two", &v1alpha1.CountRange{Min: new(int32(0))}
	quota := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "quota"}, Spec: v1alpha1.VmGroupPolicySpec{
		Quota: &v1alpha1.PolicyQuota{VMs: new(int32(8))},
	}}
	warns := one.DeepCopy()
	warns.Name, warns.Spec.Mode = "warns", v1alpha1.PolicyWarn
	r := newRig(t, one, two, quota, warns)
	r.pass()
	for name, want := range map[string]string{
		"one":   "Groups that it matches are held to it. It replaces the default limits of cpu.",
		"two":   "Groups that it matches are held to it. It replaces the default limits of cpu, replicas.",
		"quota": "Groups that it matches are held to it. It replaces no default limit.",
		"warns": "Groups that it matches are warned and not held to it, since spec.mode is Warn. It replaces no default limit.",
	} {
		if c := meta.FindStatusCondition(r.status(name).Conditions, v1alpha1.ConditionReady); c == nil || c.Message != want {
			t.Errorf("%s: condition %+v, want %q", name, c, want)
		}
	}
}

func TestOnlyTheLeaderCountsAndNotTooOften(t *testing.T) {
	r := newRig(t, maxCPU("p", 1, v1alpha1.PolicyMatch{}))
	r.leads = false
	if result := r.pass(); result != (reconcile.Result{}) || r.counts != 0 {
		t.Errorf("%d counts of one that does not lead, %+v", r.counts, result)
	}
	r.leads = true
	r.pass()
	for range 5 { // policies change in a row
		if wait := r.pass().RequeueAfter; wait <= 0 || wait > shortest {
			t.Errorf("the policy is checked again in %s", wait)
		}
	}
	if r.counts != 1 {
		t.Errorf("%d counts at once", r.counts)
	}
	r.now = r.now.Add(shortest)
	if r.pass(); r.counts != 2 {
		t.Error("not counted again")
	}
}

func TestWithoutPoliciesNothingIsCounted(t *testing.T) {
	r := newRig(t)
	if result := r.pass(); result != (reconcile.Result{}) || r.counts != 0 {
		t.Errorf("%d counts, %+v", r.counts, result)
	}
}
