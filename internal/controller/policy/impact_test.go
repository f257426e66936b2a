package policy

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

func TestTheImpactOfAPolicyIsToldBeforeItIsStored(t *testing.T) {
	most := int32(2)
	changed := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tight"}, Spec: v1alpha1.VmGroupPolicySpec{
		Match:  v1alpha1.PolicyMatch{MemberClusters: []string{"team-*"}},
		Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: &most}},
	}}
	judge := func(_ context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
		for member, cpu := range map[string]int32{"team-a": 1, "team-b": 8, "lab": 8} {
			r := policy.Requester{Member: member, Namespace: "default"}
			yield(r, set.Evaluate(r, v1alpha1.VmGroupSpec{CPU: cpu, Memory: 1, Template: "t"}, ""))
		}
		return nil
	}
	matched, broken, err := Impact(t.Context(), changed, judge)
	if matched != 2 || broken != 1 || err != nil {
		t.Errorf("matched %d, broken %d (%v), want 2 and 1", matched, broken, err)
	}
	failure := errors.New("no cache")
	if _, _, err := Impact(t.Context(), changed, func(context.Context, *policy.Set, func(policy.Requester, []policy.Violation)) error {
		return failure
	}); !errors.Is(err, failure) {
		t.Errorf("got %v, want the error of the cache", err)
	}
}
