package fleet

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

type keySet map[vsphere.GroupKey]struct{}

// index finds groups by a common property. Values without groups are not kept: any tenant can name any vCenter.
type index[K comparable] map[K]keySet

func (i index[K]) add(of K, key vsphere.GroupKey) {
	keys := i[of]
	if keys == nil {
		keys = keySet{}
		i[of] = keys
	}
	keys[key] = struct{}{}
}

func (i index[K]) drop(of K, key vsphere.GroupKey) {
	if delete(i[of], key); len(i[of]) == 0 {
		delete(i, of)
	}
}

// indexes cover the groups of all members. For groups by member and namespace, see member.
type indexes struct {
	byVCenter index[string]
	byBucket  index[int]
	// byUIDPart has the groups by the part of their UID that is in the names of folders. Few groups share one.
	byUIDPart map[string][]vsphere.GroupKey
}

func newIndexes() indexes {
	return indexes{byVCenter: index[string]{}, byBucket: index[int]{}, byUIDPart: map[string][]vsphere.GroupKey{}}
}

// uidPart is the length of the part of a group's UID in the name of its folder.
const uidPart = 8

func partOf(uid string) string { return uid[:min(len(uid), uidPart)] }

func (f *Fleet) bucketOf(key vsphere.GroupKey, ref Ref) int {
	return f.buckets.Bucket(sharding.Key{ClusterUID: key.Member(), Namespace: ref.Namespace, Name: ref.Name})
}

// enter adds a group to all indexes, leave removes it. The caller holds the lock.
func (f *Fleet) enter(key vsphere.GroupKey, g *Group) {
	m := f.member(g.Ref.Member)
	m.spaces.add(g.Ref.Namespace, key)
	m.groups, m.vms = m.groups+1, m.vms+g.VMs
	f.byVCenter.add(g.VCenter, key)
	f.byBucket.add(f.bucketOf(key, g.Ref), key)
	part := partOf(key.Group())
	f.byUIDPart[part] = append(f.byUIDPart[part], key)
}

func (f *Fleet) leave(key vsphere.GroupKey, g *Group) {
	m := f.member(g.Ref.Member)
	m.spaces.drop(g.Ref.Namespace, key)
	m.groups, m.vms = m.groups-1, m.vms-g.VMs
	f.byVCenter.drop(g.VCenter, key)
	f.byBucket.drop(f.bucketOf(key, g.Ref), key)
	part := partOf(key.Group())
	f.byUIDPart[part] = slices.DeleteFunc(f.byUIDPart[part], func(other vsphere.GroupKey) bool { return other == key })
	if len(f.byUIDPart[part]) == 0 {
		delete(f.byUIDPart, part)
	}
}

// Scope selects groups. An empty field does not restrict it, except Buckets: if not nil but empty, it selects no
// groups.
type Scope struct {
	Member, Namespace, VCenter string
	// Buckets are those of the shard map.
	Buckets []int
}

func (s *Scope) selects(g *Group) bool {
	return (s.Member == "" || s.Member == g.Ref.Member) && (s.Namespace == "" || s.Namespace == g.Ref.Namespace) && (s.VCenter == "" || s.VCenter == g.VCenter)
}

// In returns the groups of a scope at the time of the call.
func (f *Fleet) In(s Scope) iter.Seq2[vsphere.GroupKey, Group] {
	type known struct {
		key vsphere.GroupKey
		Group
	}
	var found []known
	f.visit(s, func(key vsphere.GroupKey, g Group) { found = append(found, known{key, g}) })
	return func(yield func(vsphere.GroupKey, Group) bool) {
		for _, k := range found {
			if !yield(k.key, k.Group) {
				return
			}
		}
	}
}

// visit calls each for the groups of a scope, with the lock held.
func (f *Fleet) visit(s Scope, each func(vsphere.GroupKey, Group)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.within(s, func(keys keySet) {
		for key := range keys {
			if g := f.groups[key]; s.selects(&g) {
				each(key, g)
			}
		}
	})
}

// within visits sets that contain all groups of a scope, and few others. The caller holds the lock.
func (f *Fleet) within(s Scope, visit func(keySet)) {
	m := f.members[s.Member]
	switch {
	case s.Buckets != nil:
		for _, b := range s.Buckets {
			visit(f.byBucket[b])
		}
	case s.VCenter != "":
		visit(f.byVCenter[s.VCenter])
	case s.Member == "":
		for _, m := range f.members {
			m.visit(s.Namespace, visit)
		}
	case m != nil:
		m.visit(s.Namespace, visit)
	}
}

// HasUIDPart reports whether any group of any member is known that can have a folder with this part of a UID in its
// name.
func (f *Fleet) HasUIDPart(part string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(part) >= uidPart {
		return len(f.byUIDPart[partOf(part)]) > 0
	}
	// No folder of the operator has such a name. Any UID with this prefix counts.
	return slices.ContainsFunc(slices.Collect(maps.Keys(f.byUIDPart)), func(of string) bool { return strings.HasPrefix(of, part) })
}
