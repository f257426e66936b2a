package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

func TestTheLargestGroupIsWhatEnforcedLimitsAllow(t *testing.T) {
	count := func(n int32) *v1alpha1.CountRange { return &v1alpha1.CountRange{Max: &n} }
	limits := func(mode v1alpha1.PolicyMode, l v1alpha1.PolicyLimits) v1alpha1.VmGroupPolicySpec {
		return v1alpha1.VmGroupPolicySpec{Mode: mode, Limits: &l}
	}
	elsewhere := limits("", v1alpha1.PolicyLimits{Replicas: count(1)})
	elsewhere.Match.MemberClusters = []string{"another"}
	for story, c := range map[string]struct {
		specs []v1alpha1.VmGroupPolicySpec
		want  policy.Usage
	}{
		"no policy: default limits, and the schema for replicas": {nil, policy.Usage{Groups: 1, VMs: 500, CPU: 500 * 4, Memory: 500 * 8, Storage: 500 * 100}},
		"a limit of replicas": {
			[]v1alpha1.VmGroupPolicySpec{limits("", v1alpha1.PolicyLimits{Replicas: count(3)})},
			policy.Usage{Groups: 1, VMs: 3, CPU: 12, Memory: 24, Storage: 3 * 100},
		},
		"the lowest of several": {
			[]v1alpha1.VmGroupPolicySpec{
				limits("", v1alpha1.PolicyLimits{Replicas: count(9), CPU: count(2)}),
				limits("", v1alpha1.PolicyLimits{
					Replicas: count(4), Memory: &v1alpha1.AmountRange{Max: new(v1alpha1.Amount("3Gi"))}, Disk: &v1alpha1.AmountRange{Max: new(v1alpha1.Amount("50Gi"))},
				}),
			},
			policy.Usage{Groups: 1, VMs: 4, CPU: 8, Memory: 12, Storage: 200},
		},
		"a minimum alone lifts the default, and the schema remains": {
			[]v1alpha1.VmGroupPolicySpec{limits("", v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Min: new(int32(1))}, Replicas: count(1)})},
			policy.Usage{Groups: 1, VMs: 1, CPU: 768, Memory: 8, Storage: 100},
		},
		"one that warns limits nothing": {
			[]v1alpha1.VmGroupPolicySpec{limits(v1alpha1.PolicyWarn, v1alpha1.PolicyLimits{Replicas: count(1)})},
			policy.Usage{Groups: 1, VMs: 500, CPU: 2000, Memory: 4000, Storage: 500 * 100},
		},
		"one that is about others limits nothing": {[]v1alpha1.VmGroupPolicySpec{elsewhere}, policy.Usage{Groups: 1, VMs: 500, CPU: 2000, Memory: 4000, Storage: 500 * 100}},
	} {
		var all []v1alpha1.VmGroupPolicy
		for i, spec := range c.specs {
			all = append(all, v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}, Spec: spec})
		}
		if got := policy.Compile(all).Largest(policy.Requester{Member: "m", Namespace: "n"}); got != c.want {
			t.Errorf("%s: %+v, want %+v", story, got, c.want)
		}
	}
}
