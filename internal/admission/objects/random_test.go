//go:build unix && !fast

package objects

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// verdict is what policies say of the case to somebody who sees what the API server sees: of a scaling the replicas only. invalid is what the schema refuses.
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
	return spec.CPU == 0 || spec.Memory == 0 || spec.Template == "" || moved, refused
}
