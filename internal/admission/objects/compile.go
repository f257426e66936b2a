package objects

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Sizes that the schema of VmGroupLimits accepts.
const (
	maxPolicies     = 256
	maxRequirements = 64
	maxValues       = 256
	maxRefusal      = 2048

	// maxSummary limits the summary, which is a column of kubectl.
	maxSummary = 120

	// maxSize limits all policies of a member together, in bytes as JSON: etcd accepts no more than 2 MiB. maxExpressions limits their regular
	// expressions, in bytes: an API server refuses requests whose evaluation costs too much. Requests pass when both limits are fully used; see
	// TestTheLargestLimitsStayWithinTheCost.
	maxSize        = 512 << 10
	maxExpressions = 96 << 10
)

// TooLargeError reports policies that do not fit into a member's VmGroupLimits. The member keeps its present ones.
type TooLargeError struct {
	// Policy is the name of the VmGroupPolicy at fault; "" if there are too many policies.
	Policy string
	// What is the part that is too large, with the limit.
	What string
}

func (e *TooLargeError) Error() string {
	if e.Policy == "" {
		return "the policies of the member do not fit into VmGroupLimits: " + e.What
	}
	return fmt.Sprintf("VmGroupPolicy %q does not fit into VmGroupLimits: %s", e.Policy, e.What)
}

// Compile returns the VmGroupLimits of a member, from the policies that can apply there. A nil set has no policies.
func Compile(policies *policy.Set, member string) (v1alpha1.VmGroupLimitsSpec, error) {
	if policies == nil {
		policies = policy.Compile(nil)
	}
	spec := v1alpha1.VmGroupLimitsSpec{Member: member, Unmatched: boundsOf(policy.DefaultLimits())}
	var names []string
	for _, p := range policies.ForMember(member) {
		if p.Inert() {
			continue
		}
		compiled, err := compile(p)
		if err != nil {
			return v1alpha1.VmGroupLimitsSpec{}, err
		}
		spec.Policies = append(spec.Policies, compiled)
		names = append(names, nameFor(p))
	}
	if len(spec.Policies) > maxPolicies {
		return v1alpha1.VmGroupLimitsSpec{}, &TooLargeError{What: fmt.Sprintf("%d policies, %d at most", len(spec.Policies), maxPolicies)}
	}
	spec.Summary = summary(names)
	if err := checkSize(spec); err != nil {
		return v1alpha1.VmGroupLimitsSpec{}, err
	}
	return spec, nil
}

func checkSize(spec v1alpha1.VmGroupLimitsSpec) error {
	content, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("encode the limits of member %s: %w", spec.Member, err)
	}
	if len(content) > maxSize {
		return &TooLargeError{What: fmt.Sprintf("%d bytes, %d at most", len(content), maxSize)}
	}
	expressions := 0
	for i := range spec.Policies {
		p := &spec.Policies[i]
		for _, patterns := range [][]v1alpha1.LimitsPattern{p.Exclude, p.Templates.Allow, p.Templates.Deny} {
			for j := range patterns {
				expressions += len(patterns[j].Expression)
			}
		}
	}
	if expressions > maxExpressions {
		return &TooLargeError{What: fmt.Sprintf("patterns with stars of %d bytes, %d at most", expressions, maxExpressions)}
	}
	return nil
}

func compile(p *policy.Policy) (v1alpha1.LimitsPolicy, error) {
	compiled := v1alpha1.LimitsPolicy{
		Name:         p.Name(),
		Enforced:     p.Enforced(),
		Refusal:      cut(p.Refusal(), maxRefusal),
		LimitsBounds: boundsOf(p.Bounds()),
		DiskRequired: p.RequiresDisk(),
		Templates: v1alpha1.LimitsTemplates{
			Allow: templatePatterns(p.Allow()), AllowList: p.AllowList(), Deny: templatePatterns(p.Deny()),
		},
		Defaults: p.Defaults(),
	}
	for _, pattern := range p.Exclude() {
		compiled.Exclude = append(compiled.Exclude, v1alpha1.LimitsPattern{Pattern: pattern, Expression: expressionOf(pattern)})
	}
	for _, requirement := range p.Requirements() {
		if len(requirement.Values) > maxValues {
			return compiled, &TooLargeError{p.Name(), fmt.Sprintf("%d values of label %s in match.namespaceSelector, %d at most",
				len(requirement.Values), requirement.Key, maxValues)}
		}
		compiled.Selector = append(compiled.Selector, v1alpha1.LimitsRequirement{
			Key: requirement.Key, Operator: requirement.Operator, Values: requirement.Values,
		})
	}
	if len(compiled.Selector) > maxRequirements {
		return compiled, &TooLargeError{p.Name(), fmt.Sprintf("%d requirements in match.namespaceSelector, %d at most",
			len(compiled.Selector), maxRequirements)}
	}
	return compiled, nil
}

func boundsOf(bounds policy.Bounds) v1alpha1.LimitsBounds {
	rangeOf := func(r policy.Range) v1alpha1.LimitsRange { return v1alpha1.LimitsRange{Min: r.Min, Max: r.Max} }
	return v1alpha1.LimitsBounds{CPU: rangeOf(bounds.CPU), Memory: rangeOf(bounds.Memory), Disk: rangeOf(bounds.Disk), Replicas: rangeOf(bounds.Replicas)}
}

func templatePatterns(patterns []string) []v1alpha1.LimitsPattern {
	var result []v1alpha1.LimitsPattern
	for _, pattern := range patterns {
		if strings.Contains(pattern, "/") {
			result = append(result, v1alpha1.LimitsPattern{Pattern: pattern, Path: true})
			continue
		}
		result = append(result, v1alpha1.LimitsPattern{Pattern: pattern, Expression: nameExpressionOf(pattern)})
	}
	return result
}

// nameExpressionOf does the same for a pattern of vCenter names, which ignore case and can be written as the API returns them. A pattern without a
// star needs no expression if it has only plain ASCII letters and one reading.
func nameExpressionOf(pattern string) string {
	readings := inventoryname.Readings(pattern)
	plain := strings.IndexFunc(pattern, func(r rune) bool { return r > unicode.MaxASCII }) < 0
	if plain && len(readings) == 1 && !strings.Contains(pattern, "*") {
		return ""
	}
	for i, reading := range readings {
		parts := strings.Split(reading, "*")
		for j := range parts {
			parts[j] = regexp.QuoteMeta(parts[j])
		}
		readings[i] = strings.Join(parts, ".*")
	}
	if len(readings) == 1 {
		return "(?is)^" + readings[0] + "$"
	}
	return "(?is)^(?:" + strings.Join(readings, "|") + ")$"
}

// expressionOf returns a pattern with a star as a regular expression that matches the whole name, including line breaks. A pattern without a star
// needs none.
func expressionOf(pattern string) string {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return ""
	}
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return "(?s)^" + strings.Join(parts, ".*") + "$"
}

func nameFor(p *policy.Policy) string {
	switch {
	case p.Refusal() != "":
		return p.Name() + " (unusable)"
	case !p.Enforced():
		return p.Name() + " (warns)"
	}
	return p.Name()
}

func summary(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	text := cut(names[0], maxSummary-len(" and 256 more"))
	for i, name := range names[1:] {
		if len(text)+len(", ")+len(name)+len(" and 256 more") > maxSummary {
			return fmt.Sprintf("%s and %d more", text, len(names)-i-1)
		}
		text += ", " + name
	}
	return text
}

func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size-3], "") + "..."
}
