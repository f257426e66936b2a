package plan

import (
	"cmp"
	"slices"
)

// scaleDown dooms surplus VMs: first those that spec.scaleDown.deleteFirst names, then unhealthy ones, then those that are not available yet, then
// those that an update concerns, then by spec.scaleDown.order. A clone in flight counts as the newest of all and is deleted once it appears, so that
// no running VM goes in its stead. VMs that are suspect or elsewhere cannot be deleted and are never chosen. One that is
// elsewhere counts. One that is suspect may be gone already, so that no other goes before that is known.
func (p *planner) scaleDown(surplus int) {
	var candidates []*member
	for _, m := range p.table() {
		if !m.doomed && (m.state == present || m.state == cloning) {
			candidates = append(candidates, m)
		}
	}
	slices.SortFunc(candidates, p.compareLeaving)
	for _, m := range candidates[:min(max(surplus, 0), len(candidates))] {
		p.doom(m)
	}
}

// compareLeaving orders members by who leaves first.
func (p *planner) compareLeaving(a, b *member) int {
	if c := cmp.Compare(p.leavingRank(a), p.leavingRank(b)); c != 0 {
		return c
	}
	if p.spec.oldestFirst {
		return byAge(a, b)
	}
	return -byAge(a, b)
}

func (p *planner) leavingRank(m *member) int {
	switch {
	case p.listed(m):
		return 0
	case p.unhealthy(m):
		return 1
	case !m.status.Available:
		return 2
	case p.outdated(m):
		return 3
	default:
		return 4
	}
}

func notVisible(m *member) int {
	if m.vm == nil {
		return 1
	}
	return 0
}
