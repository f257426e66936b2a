package policy_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// twenty policies, each with all fields set, all of which apply to the requester.
func twenty() (*policy.Set, policy.Requester) {
	policies := make([]v1alpha1.VmGroupPolicy, 0, 20)
	for i := range 20 {
		policies = append(policies, v1alpha1.VmGroupPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("policy-%d", i)},
			Spec: v1alpha1.VmGroupPolicySpec{
				Priority: int32(i % 5),
				Match: v1alpha1.PolicyMatch{
					MemberClusters: []string{"prod-*", "team-*"}, Exclude: []string{"kube-*", "sandbox-*"},
					NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: "stage", Operator: metav1.LabelSelectorOpIn, Values: []string{"dev", "test"}},
						{Key: "legacy", Operator: metav1.LabelSelectorOpDoesNotExist},
					}},
				},
				Limits: &v1alpha1.PolicyLimits{
					CPU:      &v1alpha1.CountRange{Min: new(int32(1)), Max: new(int32(8))},
					Memory:   &v1alpha1.AmountRange{Min: new(v1alpha1.Amount("1Gi")), Max: new(v1alpha1.Amount("64Gi"))},
					Replicas: &v1alpha1.CountRange{Max: new(int32(50))},
				},
				Templates: &v1alpha1.PolicyTemplates{Allow: []string{"debian-*", "/DC0/vm/images/*", "linux-*"}, Deny: []string{"*-beta", "*/private/*"}},
				Defaults:  &v1alpha1.PolicyDefaults{CPU: 2},
			},
		})
	}
	return policy.Compile(policies), policy.Requester{Member: "team-a", Namespace: "dev", NamespaceLabels: map[string]string{"stage": "dev"}}
}

// BenchmarkEvaluate is one group without a violation, the most common one, against 20 policies.
func BenchmarkEvaluate(b *testing.B) {
	set, r := twenty()
	spec := v1alpha1.VmGroupSpec{CPU: 4, Memory: 16, Template: "linux-12", Replicas: new(int32(3))}
	if n := len(set.Matching(r)); n != 20 {
		b.Fatalf("%d policies match", n)
	}
	b.ReportAllocs()
	for b.Loop() {
		if violations := set.Evaluate(r, spec, "/DC0/vm/other/linux-12"); len(violations) > 0 {
			b.Fatal(violations)
		}
	}
}

// BenchmarkMatching is the part that depends only on the member and namespace, and that a caller can cache.
func BenchmarkMatching(b *testing.B) {
	set, r := twenty()
	b.ReportAllocs()
	for b.Loop() {
		set.Matching(r)
	}
}
