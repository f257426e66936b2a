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

// maxProblem bounds what is said about an unusable policy, in bytes: selectors can be long.
const maxProblem = 400

// Policy is a VmGroupPolicy, parsed. It never changes; neither may what its methods return.
//
// A policy that cannot be used as it is written fails closed, and says so by [Policy.Problem]. With a selector that
// cannot be parsed nobody knows whom it holds for: it is taken to hold for every namespace of its members that it
// does not exclude, only to refuse growth there, and the rest of it is left alone. With a range that allows no value,
// or a negative amount, it refuses growth of the groups that it matches; its other limits hold. The default limits hold for
// what such a range is about.
type Policy struct {
	name     string
	origin   string
	priority int32
	warns    bool

	members, exclude []pattern
	requirements     []metav1.LabelSelectorRequirement
	selector         labels.Selector // nil when it cannot be parsed

	bounds Bounds
	// lifts are the fields whose default limits do not hold where the policy does: those that it bounds, if it is enforced.
	lifts       fieldSet
	allow, deny []namePattern
	allowList   string
	mustExist   bool
	defaults    v1alpha1.PolicyDefaults
	quota       *quota
	problem     string
}

// Set is all policies of a hub, in the order in which they are applied. It never changes and is safe for concurrent
// use.
type Set struct {
	policies []*Policy
}

// Compile parses policies once, so that an evaluation parses nothing. The order of the argument does not matter, and
// nothing of it is kept.
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

// Problems says by name what is wrong with each policy that cannot be used as it is written.
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
		// What the API server fills in when the list is left out.
		p.members = patternsOf([]string{"*"})
	}
	// What a member is told of the policy, whatever else is wrong with it, has to be text that its API server stores as it is.
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
		if p.bounds.Memory, problem = memoryRange(l.Memory); problem != "" {
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

// requirementsOf writes a selector as requirements only, in an order that depends on nothing but the selector.
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

// shorten makes text of an object fit for a message.
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
