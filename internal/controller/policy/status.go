package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/kstatus"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// tally has the counts of one policy, in groups.
type tally struct {
	matched, violations int32
}

// count tallies all groups by policy.
func count(ctx context.Context, set *policy.Set, evaluator Evaluator) (map[string]tally, error) {
	counts := map[string]tally{}
	err := evaluator.EvaluateAll(ctx, set, func(r policy.Requester, violations []policy.Violation) {
		broken := map[string]bool{}
		for _, v := range violations {
			if v.Rule != policy.RuleReplicasMinimum { // the rule applies to new groups only, and these exist
				broken[v.Policy] = true
			}
		}
		for _, p := range set.Matching(r) {
			t := counts[p.Name()]
			t.matched++
			if broken[p.Name()] {
				t.violations++
			}
			counts[p.Name()] = t
		}
	})
	if err != nil {
		return nil, fmt.Errorf("evaluate the groups: %w", err)
	}
	return counts, nil
}

// newStatus derives a policy's status from the compiled policy. It is pure.
func newStatus(p *v1alpha1.VmGroupPolicy, compiled *policy.Policy, t tally, now time.Time) v1alpha1.VmGroupPolicyStatus {
	s, problem := *p.Status.DeepCopy(), compiled.Problem()
	s.ObservedGeneration = p.Generation
	s.MatchedGroups, s.Violations = t.matched, t.violations
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPolicyInForce,
		Message:            "Groups that it matches are held to it.",
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	switch {
	case problem != "" && p.Spec.Mode == v1alpha1.PolicyWarn:
		ready.Status, ready.Reason = metav1.ConditionFalse, v1alpha1.ReasonPolicyInvalid
		ready.Message = fmt.Sprintf("The policy cannot be applied as it is written: %s. Correct spec; until then groups that it may match are warned of it", problem)
	case problem != "":
		ready.Status, ready.Reason = metav1.ConditionFalse, v1alpha1.ReasonPolicyInvalid
		ready.Message = fmt.Sprintf("The policy cannot be applied as it is written: %s. Correct spec; until then no group that it may match grows or changes", problem)
	case p.Spec.Mode == v1alpha1.PolicyWarn:
		ready.Message = "Groups that it matches are warned and not held to it, since spec.mode is Warn."
	}
	if problem == "" {
		ready.Message += " " + replaced(compiled.Lifts())
	}
	meta.SetStatusCondition(&s.Conditions, ready)
	kstatus.Derive(&s.Conditions, now)
	return s
}

// replaced lists the default limits that a policy lifts.
func replaced(fields []string) string {
	if len(fields) == 0 {
		return "It replaces no default limit."
	}
	return "It replaces the default limits of " + strings.Join(fields, ", ") + "."
}
