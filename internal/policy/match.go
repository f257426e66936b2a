package policy

import (
	"k8s.io/apimachinery/pkg/labels"
)

// Matching returns the policies that hold for a requester, by priority, the highest first, then by name. An unusable
// policy is among them when it may hold for the requester; see [Policy].
func (s *Set) Matching(r Requester) []*Policy {
	var matching []*Policy
	for _, p := range s.policies {
		if p.Matches(r) {
			matching = append(matching, p)
		}
	}
	return matching
}

// ForMember returns the policies that can hold in a member, in the order of [Set.Matching].
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

// rulesFor returns the policies whose rules a requester's groups have to keep, and at the end the default limits that none of
// them lifts.
func (s *Set) rulesFor(r Requester) []*Policy {
	matching := s.Matching(r)
	var lifted fieldSet
	for _, p := range matching {
		lifted |= p.lifts
	}
	if int(lifted) == len(byDefault)-1 {
		return matching // nothing is left of them
	}
	return append(matching, byDefault[lifted])
}

// Matches says whether the policy holds for a requester.
func (p *Policy) Matches(r Requester) bool {
	return anyMatches(p.members, r.Member) &&
		!anyMatches(p.exclude, r.Namespace) &&
		(p.selector == nil || p.selector.Matches(labels.Set(r.NamespaceLabels)))
}

// Inert says whether the policy neither refuses nor fills in anything: it only warns, and nobody can read its selector.
func (p *Policy) Inert() bool { return p.selector == nil && p.warns }
