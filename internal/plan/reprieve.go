package plan

import (
	"cmp"
	"slices"
)

// reprieve keeps VMs that were chosen to leave, as far as the group wants them again: it was scaled up meanwhile, a clone that was counted on
// never came, or the record of what leaves is from another time. It would be wrong to take such a VM away and to clone another beside
// it. A VM with a tombstone leaves, and so does one that is being given one: that is final. So none gets one while a suspect VM, which may
// be gone already, would then be missed.
func (p *planner) reprieve() {
	if p.in.Deleting && p.in.Keep {
		p.spare()
	}
	room := p.wanted() - p.population()
	if p.in.Deleting || p.spec.keep || room+p.suspects() <= 0 {
		return
	}
	var candidates []*member
	for _, m := range p.table() {
		untouched := m.state == present && !m.vm.Tombstone && !p.ops.leaving(m.status.Ordinal)
		if m.doomed && (untouched || m.state == cloning) {
			candidates = append(candidates, m)
		}
	}
	slices.SortFunc(candidates, func(a, b *member) int { return cmp.Or(one(a.surge)-one(b.surge), p.compareLeaving(b, a)) }) // who would leave last is kept first
	for i, m := range candidates[:min(int(room+p.suspects()), len(candidates))] {
		if i >= int(room) {
			m.awaits = true
			continue
		}
		m.doomed = false
		delete(p.doomed, m.status.Ordinal)
	}
}
