//go:build unix && !fast

package objects

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// verdict is the policies' verdict on the case, with the view of the API server: of a scaling only the replicas. invalid is a
// refusal by the schema.
func verdict(c policytest.Case) (invalid bool, refused []policy.Violation) {
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
	moved := old != nil && old.VCenter != "" && spec.VCenter != old.VCenter
	shrinks := old != nil && policytest.Shrinks(*old, spec)
	linked := spec.CloneMode == v1alpha1.CloneLinked && spec.Shape().RootDiskGiB() > 0
	return spec.CPU == 0 || spec.Memory == 0 || spec.Template == "" || moved || shrinks || linked, refused
}
