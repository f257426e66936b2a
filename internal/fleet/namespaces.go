package fleet

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// putIn records a group in its namespace, takeOut drops it. The lock is held.
func (f *Fleet) putIn(of space, key vsphere.GroupKey) {
	keys := f.within[of]
	if keys == nil {
		keys = map[vsphere.GroupKey]struct{}{}
		f.within[of] = keys
	}
	keys[key] = struct{}{}
}

func (f *Fleet) takeOut(of space, key vsphere.GroupKey) {
	delete(f.within[of], key)
	if len(f.within[of]) == 0 {
		delete(f.within, of)
	}
}

// SetNamespace takes news of a namespace: whether all that its groups remove is confirmed.
func (f *Fleet) SetNamespace(member, namespace string, confirmed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.confirm(space{member, namespace}, confirmed)
}

// confirm records whether all that the groups of a namespace remove is confirmed. The lock is held.
func (f *Fleet) confirm(of space, confirmed bool) {
	guard := f.guardOf(of.member)
	if _, was := guard.confirmed[of.namespace]; was == confirmed {
		return
	}
	if confirmed {
		guard.confirmed[of.namespace] = struct{}{}
	} else {
		delete(guard.confirmed, of.namespace)
	}
	for _, key := range slices.Collect(maps.Keys(f.within[of])) {
		f.put(key, f.groups[key])
	}
}

// ConfirmOnly takes these for all namespaces of a member whose removals are confirmed. No watch reports those that were deleted while the member was
// away: they would be remembered forever, and a namespace that is created anew would count as confirmed.
func (f *Fleet) ConfirmOnly(member string, namespaces map[string]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for namespace := range maps.Clone(f.guardOf(member).confirmed) {
		if _, still := namespaces[namespace]; !still {
			f.confirm(space{member, namespace}, false)
		}
	}
	for namespace := range namespaces {
		f.confirm(space{member, namespace}, true)
	}
}
