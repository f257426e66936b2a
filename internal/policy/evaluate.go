package policy

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Evaluate returns the violations of spec, of all policies that apply to the requester, in their order and then in that of the rules. templatePath is
// the inventory path of spec.template, or empty if it is unknown. Then a pattern with a slash is not checked, neither for nor against the template.
//
// The result includes violations of policies that only warn; see [Split]. It does not include quotas ([Policy.CheckQuota]), missing templates
// ([Set.MissingTemplate]) and VMs that would be left behind ([Set.Retained]).
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

// AllowsTemplate reports whether the policies that apply to the requester allow the template with this inventory path.
func (s *Set) AllowsTemplate(r Requester, path string) bool {
	return !slices.ContainsFunc(s.Evaluate(r, v1alpha1.VmGroupSpec{Template: path}, path), func(v Violation) bool {
		return v.Enforced && (v.Rule == RuleTemplateDenied || v.Rule == RuleTemplateAllowed)
	})
}

// EvaluateUpdate divides the violations of the new spec into refused ones and kept ones, which suit a warning.
//
//   - refused has fields that get worse: a value further from its limit than before, another template, or more VMs of a kind that breaks a limit.
//   - kept has violations that existed before and hold the group, and fields that get worse under a policy that only warns.
//
// Two kinds have no effect on the update and are in neither: a minimum of replicas, which applies to new groups only, and earlier violations of a
// policy that only warns. An update can always shrink a group.
//
// If the object had no spec before, its spec is checked like a new one.
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

// MissingTemplate returns the violations of a template that does not exist in a VCenter: one for each policy that requires templates to exist. old is
// the previous spec, or nil for a new group. refused and kept are as in [Set.EvaluateUpdate]. For a new group, kept has only violations of policies
// that only warn.
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
