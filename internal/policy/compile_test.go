package policy_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

func TestProblemsOfPolicies(t *testing.T) {
	memory := func(least, most string) *v1alpha1.PolicyLimits {
		r := &v1alpha1.AmountRange{}
		if least != "" {
			r.Min = new(v1alpha1.Amount(least))
		}
		if most != "" {
			r.Max = new(v1alpha1.Amount(most))
		}
		return &v1alpha1.PolicyLimits{Memory: r}
	}
	selector := func(key string, operator metav1.LabelSelectorOperator, values ...string) v1alpha1.PolicyMatch {
		return v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}},
		}}
	}
	for _, c := range []struct {
		name string
		spec v1alpha1.VmGroupPolicySpec
		want string
	}{
		{name: "empty"},
		{name: "equal ends", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("2Gi", "2Gi")}},
		{name: "cpu", spec: v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Min: new(int32(3)), Max: new(int32(2))}}}, want: "limits.cpu allows no value: the minimum 3 is above the maximum 2"},
		{name: "replicas", spec: v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Min: new(int32(1)), Max: new(int32(0))}}}, want: "limits.replicas allows no value: the minimum 1 is above the maximum 0"},
		{name: "memory", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("3Gi", "2Gi")}, want: "limits.memory allows no value: the minimum 3 GiB is above the maximum 2 GiB"},
		{name: "no whole number", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("1100Mi", "1900Mi")}, want: "limits.memory allows no value: the minimum 2 GiB is above the maximum 1 GiB"},
		{name: "a quota of nothing", spec: v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("0"))}}},
		{name: "quota", spec: v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("-1Gi"))}}, want: `quota.memory: "-1Gi" is no amount`},
		{name: "no number", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("", "1e1.5")}, want: `limits.memory.max: "1e1.5" is no amount such as 8Gi or 512Mi`},
		{name: "an exponent that takes all memory to compute", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("1e999999999", "")}, want: `limits.memory.min: "1e999999999" is no amount`},
		{name: "the largest amount", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("", "9223372036854775807")}},
		{name: "more than the largest amount", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("", "10E")}, want: `limits.memory.max: "10E" is too large`},
		{name: "a minimum above the largest amount", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("1e19", "")}, want: `limits.memory.min: "1e19" is too large`},
		{name: "a quota of storage", spec: v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Storage: new(v1alpha1.Amount("40G i"))}}, want: `quota.storage: "40G i" is no amount`},
		{name: "a quota above the largest amount", spec: v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("1e19"))}}, want: `quota.memory: "1e19" is too large`},
		{name: "characters that cannot be printed", spec: v1alpha1.VmGroupPolicySpec{Limits: memory("", "1\u0085")}, want: `limits.memory.max: "1\u0085" is no amount`},
		{name: "operator", spec: v1alpha1.VmGroupPolicySpec{Match: selector("a", "Sometimes")}, want: `match.namespaceSelector is not valid: "Sometimes" is not a valid label selector operator`},
		{name: "values", spec: v1alpha1.VmGroupPolicySpec{Match: selector("a", metav1.LabelSelectorOpIn)}, want: "match.namespaceSelector is not valid: "},
		{name: "key", spec: v1alpha1.VmGroupPolicySpec{Match: selector("not a key", metav1.LabelSelectorOpExists)}, want: "match.namespaceSelector is not valid: "},
		{name: "long", spec: v1alpha1.VmGroupPolicySpec{Match: selector("a", metav1.LabelSelectorOpIn, strings.Repeat("é", 5000))}, want: "match.namespaceSelector is not valid: "},
		{
			name: "a control character in a pattern", spec: v1alpha1.VmGroupPolicySpec{Templates: &v1alpha1.PolicyTemplates{Deny: []string{"x\u007fy"}}},
			want: `templates.deny: "x\x7fy" has a control character`,
		},
		{
			name: "what YAML takes for a line break", spec: v1alpha1.VmGroupPolicySpec{Defaults: &v1alpha1.PolicyDefaults{Template: "x\u0085"}},
			want: `defaults.template: "x\u0085" has a control character`,
		},
		{
			name: "two", spec: v1alpha1.VmGroupPolicySpec{
				Limits: memory("3Gi", "2Gi"), Quota: &v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("-1"))},
			},
			want: "limits.memory allows no value: the minimum 3 GiB is above the maximum 2 GiB; quota.memory: \"-1\" is no amount such as 8Gi or 512Mi",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := policy.Compile([]v1alpha1.VmGroupPolicy{{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Spec: c.spec}})
			got, found := set.Problems()[c.name]
			if !strings.HasPrefix(got, c.want) || found != (c.want != "") || len(got) > 420 {
				t.Errorf("problem %q, want %q", got, c.want)
			}
			violations := set.Evaluate(policy.Requester{}, v1alpha1.VmGroupSpec{CPU: 2, Memory: 2, Template: "t"}, "")
			refused := slices.ContainsFunc(violations, func(v policy.Violation) bool {
				return v.Rule == policy.RuleUnusable && strings.Contains(v.Error(), got) && v.Policy == c.name
			})
			if refused != found {
				t.Errorf("a new group breaks %v", messages(violations))
			}
		})
	}
}

func TestCompileKeepsNothingOfItsArgument(t *testing.T) {
	p := v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.VmGroupPolicySpec{
		Match:     v1alpha1.PolicyMatch{Exclude: []string{"prod"}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		Limits:    &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: new(int32(4))}},
		Templates: &v1alpha1.PolicyTemplates{Allow: []string{"linux-*"}},
		Quota:     &v1alpha1.PolicyQuota{CPU: new(int64(10))},
	}}
	r := policy.Requester{Namespace: "dev", NamespaceLabels: map[string]string{"a": "b"}}
	spec := v1alpha1.VmGroupSpec{CPU: 16, Memory: 1, Template: "windows"}
	set := policy.Compile([]v1alpha1.VmGroupPolicy{p})
	before := everything(set, r, v1alpha1.VmGroupSpec{}, spec, "")
	p.Spec.Match.Exclude[0], p.Spec.Match.NamespaceSelector.MatchLabels["a"] = "*", "c"
	*p.Spec.Limits.CPU.Max, p.Spec.Templates.Allow[0], *p.Spec.Quota.CPU = 99, "*", 1000
	if after := everything(set, r, v1alpha1.VmGroupSpec{}, spec, ""); after != before {
		t.Errorf("an edit of what was compiled changes the answer from\n%s\nto\n%s", before, after)
	}
}

// The part of a policy that members get.
func TestAccessors(t *testing.T) {
	p := v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.VmGroupPolicySpec{
		Priority: 7, Mode: v1alpha1.PolicyWarn,
		Match: v1alpha1.PolicyMatch{
			MemberClusters: []string{"team-*"}, Exclude: []string{"prod"},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{"z": "1", "a": "2", "y": "3", "b": "4", "x": "5"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "m", Operator: metav1.LabelSelectorOpExists}},
			},
		},
		Limits:    &v1alpha1.PolicyLimits{Memory: &v1alpha1.AmountRange{Min: new(v1alpha1.Amount("1500Mi")), Max: new(v1alpha1.Amount("9.9Gi"))}},
		Templates: &v1alpha1.PolicyTemplates{Allow: []string{"a", "b"}, Deny: []string{"c"}, MustExist: true},
		Defaults:  &v1alpha1.PolicyDefaults{CPU: 3},
	}}
	set := policy.Compile([]v1alpha1.VmGroupPolicy{p})
	if n := len(set.ForMember("other")); n != 0 || len(set.Policies()) != 1 {
		t.Fatalf("%d policies for another member", n)
	}
	got := set.ForMember("team-a")[0]
	requirements := []metav1.LabelSelectorRequirement{
		{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"2"}},
		{Key: "b", Operator: metav1.LabelSelectorOpIn, Values: []string{"4"}},
		{Key: "x", Operator: metav1.LabelSelectorOpIn, Values: []string{"5"}},
		{Key: "y", Operator: metav1.LabelSelectorOpIn, Values: []string{"3"}},
		{Key: "z", Operator: metav1.LabelSelectorOpIn, Values: []string{"1"}},
		{Key: "m", Operator: metav1.LabelSelectorOpExists},
	}
	for what, c := range map[string]struct{ got, want any }{
		"name":         {got.Name(), "p"},
		"priority":     {got.Priority(), int32(7)},
		"enforced":     {got.Enforced(), false},
		"problem":      {got.Problem(), ""},
		"refusal":      {got.Refusal(), ""},
		"quota":        {got.HasQuota(), false},
		"must exist":   {got.MustExist(), true},
		"defaults":     {got.Defaults(), v1alpha1.PolicyDefaults{CPU: 3}},
		"exclude":      {got.Exclude(), []string{"prod"}},
		"allow":        {got.Allow(), []string{"a", "b"}},
		"allow list":   {got.AllowList(), "a, b"},
		"deny":         {got.Deny(), []string{"c"}},
		"requirements": {got.Requirements(), requirements},
		"lifts":        {got.Lifts(), []string(nil)}, // it only warns
		"bounds":       {got.Bounds(), policy.Bounds{Memory: policy.Range{Min: new(int64(2)), Max: new(int64(9))}}},
		"default limits": {policy.DefaultLimits(), policy.Bounds{
			CPU:      policy.Range{Min: new(int64(1)), Max: new(int64(4))},
			Memory:   policy.Range{Min: new(int64(1)), Max: new(int64(8))},
			Disk:     policy.Range{Max: new(int64(100))},
			Replicas: policy.Range{Min: new(int64(1))},
		}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %+v, want %+v", what, c.got, c.want)
		}
	}
}

func TestOnceThePathIsKnownTheSpellingDoesNotCount(t *testing.T) {
	set := policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{
		Templates: &v1alpha1.PolicyTemplates{Allow: []string{"linux-*"}},
	}}})
	spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "linux-12"}
	for path, want := range map[string]int{"": 0, "/DC0/vm/linux-12": 0, "/DC0/vm/windows-11": 1} {
		if got := set.Evaluate(policy.Requester{}, spec, path); len(got) != want {
			t.Errorf("with path %q: %v", path, messages(got))
		}
	}
}

func TestATemplateHasToExistOnlyWhereAPolicyWantsIt(t *testing.T) {
	spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "nope"}
	for _, mustExist := range []bool{false, true} {
		set := policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{
			Templates: &v1alpha1.PolicyTemplates{MustExist: mustExist},
		}}})
		refused, kept := set.MissingTemplate(policy.Requester{}, nil, spec, "default")
		if (len(refused) > 0) != mustExist || len(kept) > 0 {
			t.Errorf("mustExist %v: refused %v, kept %v", mustExist, messages(refused), messages(kept))
		}
	}
}

// A policy whose selector cannot be parsed is distributed to members all the same: it refuses
// growth there.
func TestAPolicyWithAnUnusableSelectorTellsItsMembersNoControlCharacters(t *testing.T) {
	spec := v1alpha1.VmGroupPolicySpec{Match: v1alpha1.PolicyMatch{
		Exclude: []string{"x\u007fy", "prod"}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"not a label": "x"}},
	}}
	set := policy.Compile([]v1alpha1.VmGroupPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: spec}})
	if got := set.Policies()[0].Exclude(); !slices.Equal(got, []string{"prod"}) {
		t.Errorf("Exclude for a member is %q", got)
	}
}
