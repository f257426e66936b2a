package plan

import (
	"cmp"
	"slices"
	"strings"
)

// markSurge marks the surge VMs that status names: VMs that updates added above the wanted number.
func (p *planner) markSurge() {
	for _, m := range p.table() {
		m.surge = p.namesSurge(m.status.UUID) || m.known != nil && p.namesSurge(m.known.UUID)
	}
}

func (p *planner) namesSurge(uuid string) bool {
	return uuid != "" && slices.ContainsFunc(p.roll.Surge, func(named string) bool { return strings.EqualFold(named, uuid) })
}

// learnSurge finds the surge VMs of an update that an older version began without recording them: the newest target VMs above the wanted number.
func (p *planner) learnSurge() {
	if !p.roll.active() || p.roll.SurgeKnown {
		return
	}
	p.roll.SurgeKnown = true
	if p.in.Desired > p.spec.desired {
		return
	}
	another := p.in.Rollout != nil && p.in.Rollout.Revision != p.roll.Revision // an edit came since
	var added []*member
	for _, m := range p.table() {
		if !m.doomed && (m.exists() || m.state == cloning) && (another || m.status.Revision == p.roll.Revision) {
			added = append(added, m)
		}
	}
	slices.SortFunc(added, byAge)
	n := min(p.population()-p.spec.desired, p.spec.update.surge, int32(len(added)))
	for _, m := range added[len(added)-int(max(n, 0)):] {
		m.surge = true
	}
}

// surging returns the surge VMs that exist or are being cloned, and do not leave. A lost surge VM is not replaced.
func (p *planner) surging() (added []*member) {
	for _, m := range p.table() {
		if m.surge && !m.doomed && !m.missing() {
			added = append(added, m)
		}
	}
	return added
}

// endSurge dooms at most n VMs that an update added and no longer wants: unavailable ones first, then those that spec lists, then the newest. An available VM
// waits until enough others are available, so that no older VM leaves in its place. A scale-down takes `fewer` other VMs in the same pass. These can be available
// while others are not, since spec can list them. So they do not count as available. endSurge returns the n VMs, also those that wait: the scale-down takes none of them.
func (p *planner) endSurge(n, fewer int32) []*member {
	added := slices.DeleteFunc(p.surging(), func(m *member) bool { return m.state != present && m.state != cloning })
	slices.SortFunc(added, func(x, y *member) int {
		return cmp.Or(service(x)-service(y), one(p.listed(y))-one(p.listed(x)), -byAge(x, y))
	})
	added = added[:min(max(int(n), 0), len(added))]
	b := p.budget()
	for _, m := range p.firstToLeave(int(fewer), added) {
		b.available -= int32(availability(m))
	}
	for _, m := range added {
		if m.serves() && b.available <= 0 {
			break
		}
		b.available -= int32(availability(m))
		p.doom(m)
	}
	return added
}

// nameSurge marks the surge VMs among the VMs that are cloned now, the last ones first. Some clones can have been planned earlier, when more were wanted.
func (p *planner) nameSurge(made []*member) {
	above := -p.spec.desired
	for _, m := range p.table() {
		if !m.doomed && !m.surge && (!m.missing() || m.kept) {
			above++
		}
	}
	for _, m := range slices.Backward(made) {
		if m.surge {
			continue
		}
		if above--; above < 0 {
			return
		}
		m.surge = true
	}
}

// recordSurge records the surge VMs. When an older VM leaves, a surge VM becomes one of the wanted VMs: an available one, the oldest.
func (p *planner) recordSurge() {
	var stay int32
	for _, m := range p.table() {
		if !m.doomed {
			stay++
		}
	}
	var added []*member
	for _, m := range p.table() {
		if m.surge && !m.doomed {
			added = append(added, m)
		}
	}
	slices.SortFunc(added, func(x, y *member) int { return cmp.Or(availability(y)-availability(x), byAge(x, y)) })
	added = added[min(max(len(added)-int(max(stay-p.spec.desired, 0)), 0), len(added)):]
	uuids := make([]string, 0, len(added))
	for _, m := range added {
		uuids = append(uuids, strings.ToLower(m.status.UUID))
	}
	for _, m := range p.table() {
		if m.surge && m.doomed { // the VM can still stay: see reprieve
			uuids = append(uuids, strings.ToLower(m.status.UUID))
		}
	}
	p.roll.Surge = sorted(uuids)
}

// byAge orders members from the oldest to the newest. A clone that is not visible yet is the newest.
func byAge(a, b *member) int {
	age := one(a.vm == nil) - one(b.vm == nil)
	if age == 0 && a.vm != nil && b.vm != nil {
		age = a.vm.Stamp.Created.Compare(b.vm.Stamp.Created)
	}
	return cmp.Or(age, cmp.Compare(a.status.Ordinal, b.status.Ordinal))
}
