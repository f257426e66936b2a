package policy

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Evaluate returns what spec breaks, of all policies that hold for the requester, in their order and then in that of
// the rules. templatePath is the inventory path that spec.template stands for, or empty when it is not known: then a
// pattern with a slash is not judged, neither for nor against the template.
//
// Violations of policies that only warn are among them; see [Split]. Quotas are apart, see [Policy.CheckQuota], and
// so are whether the template exists, see [Set.MissingTemplate], and whether VMs may be left behind, see [Set.Retained].
func (s *Set) Evaluate(r Requester, spec v1alpha1.VmGroupSpec, templatePath string) []Violation {
	if absent(&spec) {
		return nil
	}
	now := shapeOf(&spec, templatePath)
	var violations []Violation
	for _, p := range s.rulesFor(r) {
		for i := range rules {
			if detail := rules[i].broken(p, now); detail != "" {
				violations = append(violations, rules[i].violation(p, now, detail))
			}
		}
	}
	return violations
}

// EvaluateUpdate parts what the new spec breaks into what is refused and what is kept, which is fit for a warning. Refused is
// only what gets worse: a value further from its limit than before, another template, or more VMs of a kind that breaks a
// limit. Kept is what was there before, for which the group is held, and what gets worse by a policy that only warns. What has
// no effect on the update is in neither: a minimum of replicas, which holds for new groups only, and what broke a policy that
// only warns before. Shrinking is never refused.
//
// A spec where there was none before is judged as a new one.
func (s *Set) EvaluateUpdate(r Requester, old, spec v1alpha1.VmGroupSpec, templatePath string) (refused, kept []Violation) {
	if absent(&spec) {
		return nil, nil
	}
	if absent(&old) {
		return Split(s.Evaluate(r, spec, templatePath))
	}
	was, now := shapeOf(&old, ""), shapeOf(&spec, templatePath)
	for _, p := range s.rulesFor(r) {
		for i := range rules {
			detail := rules[i].broken(p, now)
			switch worse := rules[i].worse(was, now); {
			case detail == "", rules[i].newOnly, !p.Enforced() && !worse:
			case p.Enforced() && worse:
				refused = append(refused, rules[i].violation(p, now, detail))
			default:
				kept = append(kept, rules[i].violation(p, now, detail))
			}
		}
	}
	return refused, kept
}

// MissingTemplate returns the violations of a template that does not exist in a VCenter: one for each policy that
// wants templates to exist. old is the spec before, nil for a new group. What is refused and what is kept is as in
// [Set.EvaluateUpdate]; of a new group only what policies break that only warn is kept.
func (s *Set) MissingTemplate(r Requester, old *v1alpha1.VmGroupSpec, spec v1alpha1.VmGroupSpec, vcenter string) (refused, kept []Violation) {
	if spec.Template == "" {
		return nil, nil
	}
	isNew := old == nil || absent(old)
	for _, p := range s.Matching(r) {
		if !p.mustExist {
			continue
		}
		v := Violation{
			Field: "spec.template", Value: spec.Template, Policy: p.name, Rule: RuleTemplateExists, Enforced: p.Enforced(),
			Detail: fmt.Sprintf("does not exist in VCenter %q, and VmGroupPolicy %q wants a template that exists", vcenter, p.name),
		}
		switch worse := isNew || differs(shapeOf(old, ""), shapeOf(&spec, "")); {
		case p.Enforced() && worse:
			refused = append(refused, v)
		case p.Enforced() || worse:
			kept = append(kept, v)
		}
	}
	return refused, kept
}
