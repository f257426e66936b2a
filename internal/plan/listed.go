package plan

import (
	"cmp"
	"slices"
	"strings"
)

// Listed is a VM that spec.scaleDown.deleteFirst names, as its name was first seen there. A new VM that gets the name later is not meant. It is known by
// its reference: the instance UUID of a VM follows from its ordinal, and a later one of the same name may have the same.
type Listed struct{ Name, MoRef string }

// list makes p.plan.Listed what is known of the names that spec lists, by name: what status records, and what is seen now for the first time. What spec
// does not list any more is forgotten, so that a name counts anew when somebody lists it again.
func (p *planner) list() {
	all := slices.Clone(p.in.Listed)
	for _, m := range p.table() {
		if !m.registeredAnew() {
			continue
		}
		if at := slices.Index(all, Listed{Name: m.status.Name, MoRef: m.known.MoRef}); at >= 0 {
			all[at].MoRef = m.status.MoRef
		}
	}
	slices.SortFunc(all, compareListed)
	for _, m := range p.table() {
		if m.state == present {
			all = append(all, Listed{Name: m.status.Name, MoRef: m.vm.Ref.Value})
		}
	}
	known := map[string]bool{}
	all = slices.DeleteFunc(all, func(l Listed) bool {
		another := known[l.Name] || !p.spec.deleteFirst[l.Name]
		known[l.Name] = true
		return another
	})
	slices.SortFunc(all, compareListed)
	if len(all) > 0 {
		p.plan.Listed = all
	}
}

// registeredAnew is true for a VM that status knows, and that has got another reference in vCenter.
func (m *member) registeredAnew() bool {
	return m.state == present && m.known != nil && m.known.MoRef != "" && m.known.MoRef != m.status.MoRef &&
		m.known.Incarnation == m.status.Incarnation && strings.EqualFold(m.known.UUID, m.status.UUID)
}

func compareListed(a, b Listed) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MoRef, b.MoRef))
}

// listed reports whether a VM is to leave before others. While no VM of a name has been seen, the first that comes is meant.
func (p *planner) listed(m *member) bool {
	if !p.spec.deleteFirst[m.status.Name] {
		return false
	}
	at := slices.IndexFunc(p.plan.Listed, func(l Listed) bool { return l.Name == m.status.Name })
	return at < 0 || p.plan.Listed[at].MoRef == m.status.MoRef
}
