package plan

import (
	"cmp"
	"slices"
)

// scaleDown dooms surplus VMs in this order:
//
//   - VMs that spec.scaleDown.deleteFirst names
//   - unhealthy VMs
//   - VMs that are not available yet
//   - VMs that an update concerns
//   - other VMs, by spec.scaleDown.order
//
// A clone in flight counts as the newest of all and is deleted once it appears, so that no running VM leaves instead. VMs that are suspect or elsewhere cannot be deleted and are
// never chosen. A VM that is elsewhere counts. A suspect VM is possibly deleted already, so no other VM leaves in its place until that is known. Surge VMs that endSurge removes
// are not chosen.
func (p *planner) scaleDown(surplus int, but []*member) {
	for _, m := range p.firstToLeave(surplus, but) {
		p.doom(m)
	}
}

// firstToLeave returns the VMs that a scale-down by n removes, except for those in but.
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

// compareLeaving orders members by which leaves first.
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
	case !m.serves(), m.mayFollow:
		return 2
	case p.outdated(m):
		return 3
	default:
		return 4
	}
}
