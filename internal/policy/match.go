package policy

import (
	"k8s.io/apimachinery/pkg/labels"
)

// Matching returns the policies that apply to a requester, by priority, the highest first, then by name. It includes an unusable policy if the policy
// can apply to the requester; see [Policy].
func (s *Set) Matching(r Requester) []*Policy {
	var matching []*Policy
	for _, p := range s.policies {
		if p.Matches(r) {
			matching = append(matching, p)
		}
	}
	return matching
}

// ForMember returns the policies that can apply in a member, in the order of [Set.Matching].
func (s *Set) ForMember(member string) []*Policy {
	var matching []*Policy
	for _, p := range s.policies {
		if anyMatches(p.members, member) {
			matching = append(matching, p)
		}
	}
	return matching
}

// Policies returns all policies, in the order of [Set.Matching].
func (s *Set) Policies() []*Policy { return s.policies }

// rulesFor returns the policies whose rules apply to a requester's groups, and at the end the default limits that none of them lifts.
func (s *Set) rulesFor(r Requester) []*Policy {
	matching := s.Matching(r)
	var lifted fieldSet
	for _, p := range matching {
		lifted |= p.lifts
	}
	if int(lifted) == len(byDefault)-1 {
		return matching // all default limits are lifted
	}
	return append(matching, byDefault[lifted])
}

// Matches reports whether the policy applies to a requester.
func (p *Policy) Matches(r Requester) bool {
	return anyMatches(p.members, r.Member) &&
		!anyMatches(p.exclude, r.Namespace) &&
		(p.selector == nil || p.selector.Matches(labels.Set(r.NamespaceLabels)))
}

// Inert reports whether the policy neither refuses nor fills in anything: it only warns, and its selector cannot be parsed.
func (p *Policy) Inert() bool { return p.selector == nil && p.warns }
