package plan

import (
	"cmp"
	"slices"
)

// reprieve keeps VMs that were chosen to leave, as far as the group wants them again. It was scaled up meanwhile, an expected clone never came, or the record of the leaving VMs
// is outdated. To remove such a VM and clone another next to it would be wrong. A VM with a tombstone leaves, and so does a VM that is getting one: that is final. So no VM gets
// a tombstone while the group would miss it if a suspect VM turned out to be deleted.
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
	slices.SortFunc(candidates, func(a, b *member) int { return cmp.Or(one(a.surge)-one(b.surge), p.compareLeaving(b, a)) }) // the VM that would leave last is kept first
	for i, m := range candidates[:min(int(room+p.suspects()), len(candidates))] {
		if i >= int(room) {
			m.awaits = true
			continue
		}
		m.doomed = false
		delete(p.doomed, m.status.Ordinal)
	}
}
