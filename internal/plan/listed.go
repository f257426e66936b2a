package plan

import (
	"cmp"
	"slices"
	"strings"
)

// Listed is a VM that spec.scaleDown.deleteFirst names. It is the VM that had the name when the name was first observed there; a later VM with this name is not meant. The
// reference identifies the VM. The instance UUID follows from the ordinal, so a later VM of the same name can have the same UUID.
type Listed struct{ Name, MoRef string }

// list sets p.plan.Listed to the VMs that spec names, by name: those in status and those that are observed now for the first time. A name that spec no longer lists is forgotten,
// so that it counts anew when it is listed again.
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

// registeredAnew is true for a recorded VM that has got another reference in vCenter.
func (m *member) registeredAnew() bool {
	return m.state == present && m.known != nil && m.known.MoRef != "" && m.known.MoRef != m.status.MoRef &&
		m.known.Incarnation == m.status.Incarnation && strings.EqualFold(m.known.UUID, m.status.UUID)
}

func compareListed(a, b Listed) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MoRef, b.MoRef))
}

// listed reports whether a VM leaves before others. As long as no VM with a name was observed, the name means the first one that appears.
func (p *planner) listed(m *member) bool {
	if !p.spec.deleteFirst[m.status.Name] {
		return false
	}
	at := slices.IndexFunc(p.plan.Listed, func(l Listed) bool { return l.Name == m.status.Name })
	return at < 0 || p.plan.Listed[at].MoRef == m.status.MoRef
}
