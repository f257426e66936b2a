package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// maxProblem limits the message about an unusable policy, in bytes: selectors can be long.
const maxProblem = 400

// Policy is a parsed VmGroupPolicy. It never changes, and callers must not change the results of its methods.
//
// A policy that cannot be used as written fails closed, and [Policy.Problem] reports the error:
//
//   - If its selector cannot be parsed, its namespaces are unknown. The policy then applies to every namespace of its members that it does not
//     exclude. It only refuses growth there; the rest of the policy has no effect.
//   - If a range allows no value, or an amount is negative, the policy refuses growth of the groups that it matches. Its other limits apply. The
//     default limits apply to the field of such a range.
type Policy struct {
	name     string
	origin   string
	priority int32
	warns    bool

	members, exclude []pattern
	requirements     []metav1.LabelSelectorRequirement
	selector         labels.Selector // nil if it cannot be parsed

	bounds Bounds
	// lifts are the fields whose default limits do not apply where the policy does: the fields that an enforced policy limits.
	lifts       fieldSet
	allow, deny []namePattern
	allowList   string
	mustExist   bool
	defaults    v1alpha1.PolicyDefaults
	quota       *quota
	problem     string
}

// Set has all policies of a hub, in the order of their application. It never changes and is safe for concurrent use.
type Set struct {
	policies []*Policy
}

// Compile parses policies once, so that an evaluation parses nothing. The order of the argument does not matter, and the Set keeps no reference to
// it.
func Compile(policies []v1alpha1.VmGroupPolicy) *Set {
	set := &Set{policies: make([]*Policy, 0, len(policies))}
	for i := range policies {
		set.policies = append(set.policies, compile(policies[i].Name, policies[i].Spec.DeepCopy()))
	}
	slices.SortFunc(set.policies, func(a, b *Policy) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.name, b.name))
	})
	return set
}

// Problems returns the error of each policy that cannot be used as written, by name.
func (s *Set) Problems() map[string]string {
	problems := map[string]string{}
	for _, p := range s.policies {
		if p.problem != "" {
			problems[p.name] = p.problem
		}
	}
	return problems
}

func compile(name string, spec *v1alpha1.VmGroupPolicySpec) *Policy {
	p := &Policy{
		name:     name,
		origin:   fmt.Sprintf(" of VmGroupPolicy %q", name),
		priority: spec.Priority,
		warns:    spec.Mode == v1alpha1.PolicyWarn,
		members:  patternsOf(spec.Match.MemberClusters),
		exclude:  patternsOf(spec.Match.Exclude),
	}
	if len(p.members) == 0 {
		// The API server's default for a missing list.
		p.members = patternsOf([]string{"*"})
	}
	// A member's API server must store the policy's texts unchanged, even if the policy has other errors.
	p.exclude = slices.DeleteFunc(p.exclude, func(e pattern) bool { return hasControl(e.text) })
	p.requirements = requirementsOf(spec.Match.NamespaceSelector)
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: p.requirements})
	if err != nil {
		p.problem = shorten("match.namespaceSelector is not valid: " + err.Error())
		return p
	}
	p.selector = selector
	if field := unprintable(spec); field != "" {
		p.problem = field + " has a control character or a line break"
		return p
	}
	p.compileLimits(spec)
	if t := spec.Templates; t != nil {
		p.allow, p.deny, p.mustExist = namePatternsOf(t.Allow), namePatternsOf(t.Deny), t.MustExist
		p.allowList = list(t.Allow)
	}
	if spec.Defaults != nil {
		p.defaults = *spec.Defaults
	}
	return p
}

func (p *Policy) compileLimits(spec *v1alpha1.VmGroupPolicySpec) {
	var problems []string
	if l := spec.Limits; l != nil {
		p.bounds = Bounds{CPU: countRange(l.CPU), Replicas: countRange(l.Replicas)}
		var problem string
		if p.bounds.Memory, problem = amountRange("memory", l.Memory); problem != "" {
			problems = append(problems, problem)
		}
		if p.bounds.Disk, problem = amountRange("disk", l.Disk); problem != "" {
			problems = append(problems, problem)
		}
	}
	for i, field := range limited {
		r := field.in(&p.bounds)
		if problem := r.check("limits."+field.name, field.unit); problem != "" {
			problems = append(problems, problem)
			*r = Range{}
		}
		if !p.warns && *r != (Range{}) {
			p.lifts |= 1 << i
		}
	}
	var problem string
	if p.quota, problem = quotaOf(spec.Quota); problem != "" {
		problems = append(problems, problem)
	}
	p.problem = strings.Join(problems, "; ")
}

// requirementsOf writes a selector as requirements only, in an order that depends only on the selector.
func requirementsOf(selector *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	if selector == nil {
		return nil
	}
	var out []metav1.LabelSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		out = append(out, metav1.LabelSelectorRequirement{
			Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{selector.MatchLabels[key]},
		})
	}
	return append(out, selector.MatchExpressions...)
}

// shorten prepares text of an object for a message.
func shorten(s string) string {
	s = strings.Map(func(r rune) rune {
		if control(r) {
			return '?'
		}
		return r
	}, s)
	if len(s) <= maxProblem {
		return s
	}
	return strings.ToValidUTF8(s[:maxProblem], "") + "..."
}
