package policy

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Impact is the effect of a policy on existing groups. It implements webhook.Impact.
type Impact struct{ Evaluator Evaluator }

// PolicyImpact counts the groups that a policy would match if it were stored, and those of them that would break it. Other policies do not affect the
// result: all matching policies apply.
func (i Impact) PolicyImpact(ctx context.Context, changed *v1alpha1.VmGroupPolicy) (matched, broken int, err error) {
	counts, err := count(ctx, policy.Compile([]v1alpha1.VmGroupPolicy{*changed}), i.Evaluator)
	t := counts[changed.Name]
	return int(t.matched), int(t.violations), err
}
