package fleet

import "maps"

// SetNamespace records whether all removals of a namespace's groups are confirmed.
func (f *Fleet) SetNamespace(member, namespace string, confirmed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.confirm(f.member(member), namespace, confirmed)
}

// confirm records whether all removals of a namespace's groups are confirmed. The caller holds the lock.
func (f *Fleet) confirm(m *member, namespace string, confirmed bool) {
	if _, was := m.confirmed[namespace]; was == confirmed {
		return
	}
	if confirmed {
		m.confirmed[namespace] = struct{}{}
	} else {
		delete(m.confirmed, namespace)
	}
	for key := range m.spaces[namespace] {
		m.weigh(key, f.groups[key], f.clock.Now())
	}
}

// ConfirmOnly records the only namespaces of a member whose removals are confirmed. No watch reports namespaces that
// were deleted while the member was unreachable: without ConfirmOnly, they would be remembered forever, and a namespace
// that is created anew would count as confirmed.
func (f *Fleet) ConfirmOnly(member string, namespaces map[string]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.member(member)
	for namespace := range maps.Clone(m.confirmed) {
		if _, still := namespaces[namespace]; !still {
			f.confirm(m, namespace, false)
		}
	}
	for namespace := range namespaces {
		f.confirm(m, namespace, true)
	}
}
