package quota

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// survey is what is known of all groups and policies at a moment.
type survey struct {
	facts
	// groups are those of each namespace; byTotal the same by the totals that they count in.
	groups  [][]Group
	byTotal func() map[string][][]Group
}

// of returns what matters for one ledger.
func (s *survey) of(key string) (facts, [][]Group) {
	f := s.facts
	if f.key = key; key == "" {
		return f, s.groups
	}
	return f, s.byTotal()[key]
}

// survey looks at all groups that are known, and at what is left of others, so that nothing is forgotten in what is granted.
func (l *Ledger) survey(ctx context.Context) (*survey, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		return nil, errors.New("the VmGroupPolicies on the hub have not been read yet")
	}
	members, err := l.opts.Lister.Members(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the MemberClusters on the hub: %w", err)
	}
	served := map[string]bool{}
	for _, member := range members {
		served[member] = l.opts.Lister.Served(member)
	}
	remnants, err := l.opts.Lister.Remnants(ctx)
	if err != nil {
		return nil, fmt.Errorf("list what exists of groups that no member has: %w", err)
	}
	groups, err := l.opts.Lister.Groups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the groups of all members: %w", err)
	}
	for _, member := range members {
		// One that came or went meanwhile may have its groups in the list, or not.
		served[member] = served[member] && l.opts.Lister.Served(member)
	}
	return &survey{
		facts:  facts{set: set, members: members, remnants: remnants, served: func(member string) bool { return served[member] }},
		groups: groups,
		byTotal: sync.OnceValue(func() map[string][][]Group {
			byTotal := map[string][][]Group{}
			for _, of := range groups {
				for _, key := range keysOf(set.Quotas(of[0].Requester), of[0].Requester) {
					byTotal[key] = append(byTotal[key], of)
				}
			}
			return byTotal
		}),
	}, nil
}
