package policy

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// evaluator evaluates with a function.
type evaluator func(ctx context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error

// EvaluateAll implements Evaluator.
func (e evaluator) EvaluateAll(ctx context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
	return e(ctx, set, yield)
}

func TestTheImpactOfAPolicyIsToldBeforeItIsStored(t *testing.T) {
	most := int32(2)
	changed := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tight"}, Spec: v1alpha1.VmGroupPolicySpec{
		Match:  v1alpha1.PolicyMatch{MemberClusters: []string{"team-*"}},
		Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: &most}},
	}}
	judge := evaluator(func(_ context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
		for member, cpu := range map[string]int32{"team-a": 1, "team-b": 8, "lab": 8} {
			r := policy.Requester{Member: member, Namespace: "default"}
			yield(r, set.Evaluate(r, v1alpha1.VmGroupSpec{CPU: cpu, Memory: 1, Template: "t"}, ""))
		}
		return nil
	})
	matched, broken, err := Impact{judge}.PolicyImpact(t.Context(), changed)
	if matched != 2 || broken != 1 || err != nil {
		t.Errorf("matched %d, broken %d (%v), want 2 and 1", matched, broken, err)
	}
	failure := errors.New("no cache")
	fails := evaluator(func(context.Context, *policy.Set, func(policy.Requester, []policy.Violation)) error { return failure })
	if _, _, err := (Impact{fails}).PolicyImpact(t.Context(), changed); !errors.Is(err, failure) {
		t.Errorf("got %v, want the error of the cache", err)
	}
}

// A minimum of replicas applies to new groups only: no existing group breaks it.
func TestAMinimumOfReplicasHasNoImpactOnGroupsThatExist(t *testing.T) {
	least, none := int32(3), int32(0)
	changed := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: v1alpha1.VmGroupPolicySpec{
		Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Min: &least}},
	}}
	judge := evaluator(func(_ context.Context, set *policy.Set, yield func(policy.Requester, []policy.Violation)) error {
		r := policy.Requester{Member: "team-a", Namespace: "default"}
		violations := set.Evaluate(r, v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Replicas: &none}, "")
		if len(violations) == 0 {
			t.Error("a new group of no VMs breaks nothing")
		}
		yield(r, violations)
		return nil
	})
	if matched, broken, err := (Impact{judge}).PolicyImpact(t.Context(), changed); matched != 1 || broken != 0 || err != nil {
		t.Errorf("matched %d, broken %d (%v), want 1 and 0", matched, broken, err)
	}
}
