package plan

import (
	"cmp"
	"slices"
)

// scaleDown dooms surplus VMs: first those that spec.scaleDown.deleteFirst names, then unhealthy ones, then those that are not available yet, then
// those that an update concerns, then by spec.scaleDown.order. A clone in flight counts as the newest of all and is deleted once it appears, so that
// no running VM goes in its stead. VMs that are suspect or elsewhere cannot be deleted and are never chosen. One that is
// elsewhere counts. One that is suspect may be gone already, so that no other goes before that is known. VMs that an update added, and that leave by
// themselves, are not chosen.
func (p *planner) scaleDown(surplus int, but []*member) {
	for _, m := range p.firstToLeave(surplus, but) {
		p.doom(m)
	}
}

// firstToLeave returns the VMs that a scale-down by n takes, apart from some.
func (p *planner) firstToLeave(n int, but []*member) []*member {
	var candidates []*member
	for _, m := range p.table() {
		if !m.doomed && (m.state == present || m.state == cloning) && !slices.Contains(but, m) {
			candidates = append(candidates, m)
		}
	}
	slices.SortFunc(candidates, p.compareLeaving)
	return candidates[:min(max(n, 0), len(candidates))]
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
	case !m.serves():
		return 2
	case p.outdated(m):
		return 3
	default:
		return 4
	}
}
