//go:build unix

package objects

import (
	"fmt"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// dice draws requests from small sets of values, so that bounds are met, kept and broken about equally often.
type dice struct{ *rand.Rand }

func one[T any](d dice, values ...T) T { return values[d.IntN(len(values))] }

func (d dice) maybe() bool { return d.IntN(2) == 0 }

func (d dice) counts(values ...int32) *v1alpha1.CountRange {
	r := &v1alpha1.CountRange{}
	if d.maybe() {
		r.Min = new(one(d, values...))
	}
	if d.maybe() {
		r.Max = new(one(d, values...))
	}
	return r
}

func (d dice) policy() v1alpha1.VmGroupPolicySpec {
	spec := v1alpha1.VmGroupPolicySpec{Priority: one[int32](d, 0, 1), Mode: one(d, v1alpha1.PolicyEnforce, v1alpha1.PolicyEnforce, v1alpha1.PolicyWarn)}
	if d.maybe() {
		spec.Limits = &v1alpha1.PolicyLimits{CPU: d.counts(1, 2, 3, 4), Replicas: d.counts(0, 1, 2, 3)}
		if d.maybe() {
			spec.Limits.Memory = &v1alpha1.MemoryRange{Max: new(v1alpha1.Amount(one(d, "2Gi", "3.5Gi", "4G")))}
		}
	}
	patterns := func() []string {
		list := make([]string, 0, 2)
		for range d.IntN(cap(list) + 1) {
			list = append(list, one(d, "linux-*", "*-12", "linux-12", "windows-*", "*", "/DC0/vm/*", "*x*n*", "l.nux-12", "*/linux-12", "/", "LINUX-*", "a%2Fl*", "*%25*", "12", "Ü*", "b*"))
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	if d.maybe() {
		spec.Templates = &v1alpha1.PolicyTemplates{Allow: patterns(), Deny: patterns()}
	}
	if d.maybe() {
		spec.Defaults = &v1alpha1.PolicyDefaults{CPU: one[int32](d, 0, 2, 4), Memory: one[int32](d, 0, 1, 8), Template: one(d, "", "linux-12")}
	}
	if d.maybe() {
		spec.Match.Exclude = []string{one(d, "dev", "de*", "*v", "prod", "p*", "*e*v*")}
	}
	if d.maybe() {
		requirement := metav1.LabelSelectorRequirement{
			Key: one(d, "stage", "team"), Operator: one(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
		}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = []string{one(d, "dev", "prod")}
		}
		spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}
		if d.IntN(4) == 0 {
			spec.Match.NamespaceSelector.MatchLabels = map[string]string{"stage": one(d, "dev", "prod", "not valid!")}
		}
	}
	return spec
}

func (d dice) spec(complete bool) map[string]any {
	spec := map[string]any{
		"cpu": one(d, 1, 2, 3, 4, 5), "memory": one(d, 1, 2, 3, 4, 8, 9),
		"template": one(d, "linux-12", "windows-11", "/DC0/vm/linux-12", "a/windows-12/", "\"quoted\" ü", "//", "linux\u200b-12\u3000",
			"a/linux-12", "A%2flinux-12", "b/a/12", "/DC0/vm/a/linux-12", "LINUX-12", "50%25-x", "%252f", "ü-1", "a/b/c/d/e/f/g/h/i/j/k/l/m"),
	}
	if left := one(d, "cpu", "memory", "template"); !complete && d.IntN(6) == 0 {
		delete(spec, left)
	}
	if d.maybe() {
		spec["replicas"] = one(d, 0, 1, 2, 3, 4)
	}
	return spec
}

func (d dice) request(number int) policytest.Case {
	c := policytest.Case{
		Name: fmt.Sprint("request ", number), Member: "m1", Group: "web", Namespace: "dev",
		Policies: map[string]v1alpha1.VmGroupPolicySpec{}, NamespaceLabels: map[string]string{"stage": "dev"},
	}
	for i := range d.IntN(4) {
		c.Policies[fmt.Sprint("p", i)] = d.policy()
	}
	if d.maybe() {
		c.Old = d.spec(true)
	}
	if c.Old != nil && d.IntN(3) == 0 {
		c.Scale = new(one[int32](d, 0, 1, 2, 3, 4))
	} else {
		c.Spec = d.spec(false)
	}
	return c
}

// verdict is what policies say of the case to somebody who sees what the API server sees: of a scaling the replicas only.
func verdict(c policytest.Case) (incomplete bool, refused []policy.Violation) {
	set, spec, old := c.Set(), *c.NewSpec(), c.OldSpec()
	if old == nil {
		set.Default(c.Requester(), &spec)
		refused, _ = policy.Split(set.Evaluate(c.Requester(), spec, ""))
	} else {
		set.DefaultUpdate(c.Requester(), *old, &spec)
		refused, _ = set.EvaluateUpdate(c.Requester(), *old, spec, "")
	}
	if c.Scale != nil {
		refused = slices.DeleteFunc(refused, func(v policy.Violation) bool {
			return v.Rule != policy.RuleUnusable && v.Rule != policy.RuleReplicasMaximum
		})
	}
	return spec.CPU == 0 || spec.Memory == 0 || spec.Template == "", refused
}
