package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// survey is a snapshot of all groups and policies.
type survey struct {
	facts
	// groups are those of each namespace. byTotal has the same groups by the totals that they count in.
	groups  [][]Group
	byTotal func() map[string][][]Group
}

// of returns the facts and groups for one ledger.
func (s *survey) of(key string) (facts, [][]Group) {
	f := s.facts
	f.key = key
	return f, s.byTotal()[key]
}

// survey lists all known groups, and the remnants of others, so that grants account for all usage.
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
	all, err := l.holders(ctx, members)
	if err != nil {
		return nil, err
	}
	groups := all.groups
	return &survey{
		facts:  facts{set: set, members: members, remnants: all.remnants, served: func(member string) bool { return all.served[member] }},
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

// holders are all groups with a share of a quota, and the members that were served during the whole listing.
type holders struct {
	served   map[string]bool
	remnants []Remnant
	groups   [][]Group
}

// surveys is how often the holders are listed if members become unreachable meanwhile.
const surveys = 3

// holders lists the remnants and the groups of members. If a member becomes unreachable between the two lists, its groups are in neither: then both
// are listed again.
func (l *Ledger) holders(ctx context.Context, members []string) (h holders, err error) {
	for range surveys {
		h.served = map[string]bool{}
		for _, member := range members {
			h.served[member] = l.opts.Lister.Served(member)
		}
		if h.remnants, err = l.opts.Lister.Remnants(ctx); err != nil {
			return h, fmt.Errorf("list what exists of groups that no member has: %w", err)
		}
		if h.groups, err = l.opts.Lister.Groups(ctx); err != nil {
			return h, fmt.Errorf("list the groups of all members: %w", err)
		}
		if !slices.ContainsFunc(members, func(member string) bool { return h.served[member] && !l.opts.Lister.Served(member) }) {
			return h, nil
		}
	}
	return h, fmt.Errorf("members went away %d times in a row while all groups were listed", surveys)
}
