package fleet

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// keySet is a set of groups.
type keySet map[vsphere.GroupKey]struct{}

// index finds groups by something that they have in common. Nothing is kept of what no group has: any tenant can name
// any vCenter.
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

// indexes are those over the groups of all members. Groups of a member are found by namespace; see member.
type indexes struct {
	byVCenter index[string]
	byBucket  index[int]
	// uidParts counts groups by the part of their UID that is in the names of folders.
	uidParts map[string]int
	// clusters counts groups by the UID of their cluster.
	clusters map[string]int
}

func newIndexes() indexes {
	return indexes{byVCenter: index[string]{}, byBucket: index[int]{}, uidParts: map[string]int{}, clusters: map[string]int{}}
}

// uidPart is how much of a group's UID is in the name of its folder.
const uidPart = 8

func partOf(uid string) string { return uid[:min(len(uid), uidPart)] }

// bucketOf is the bucket of a group that has this name.
func (f *Fleet) bucketOf(key vsphere.GroupKey, ref Ref) int {
	return f.buckets.Bucket(sharding.Key{ClusterUID: key.Member(), Namespace: ref.Namespace, Name: ref.Name})
}

// enter has a group found by all that it has, leave by nothing any more. The lock is held.
func (f *Fleet) enter(key vsphere.GroupKey, g *Group) {
	m := f.member(g.Ref.Member)
	m.spaces.add(g.Ref.Namespace, key)
	m.groups, m.vms = m.groups+1, m.vms+g.VMs
	f.byVCenter.add(g.VCenter, key)
	f.byBucket.add(f.bucketOf(key, g.Ref), key)
	f.uidParts[partOf(key.Group())]++
	f.clusters[key.Member()]++
}

func (f *Fleet) leave(key vsphere.GroupKey, g *Group) {
	m := f.member(g.Ref.Member)
	m.spaces.drop(g.Ref.Namespace, key)
	m.groups, m.vms = m.groups-1, m.vms-g.VMs
	f.byVCenter.drop(g.VCenter, key)
	f.byBucket.drop(f.bucketOf(key, g.Ref), key)
	count(f.uidParts, partOf(key.Group()))
	count(f.clusters, key.Member())
}

// count counts one less, and keeps no zero.
func count(of map[string]int, key string) {
	if of[key]--; of[key] == 0 {
		delete(of, key)
	}
}

// Scope selects groups. What is empty does not restrict it, but for Buckets, which selects nothing when it is empty and
// not nil.
type Scope struct {
	Member, Namespace, VCenter string
	// Buckets are those of the ring.
	Buckets []int
}

func (s *Scope) selects(g *Group) bool {
	return (s.Member == "" || s.Member == g.Ref.Member) && (s.Namespace == "" || s.Namespace == g.Ref.Namespace) && (s.VCenter == "" || s.VCenter == g.VCenter)
}

// In returns the groups of a scope, as they are at this moment.
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

// visit calls each for the groups of a scope, under the lock.
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

// within visits sets that have all groups of a scope, and few others. The lock is held.
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

// HasUIDPart reports whether any group is known, of whichever member, that can have a folder with this part of a UID in
// its name.
func (f *Fleet) HasUIDPart(part string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(part) >= uidPart {
		return f.uidParts[partOf(part)] > 0
	}
	// No folder of the operator is named so. Any UID that begins so counts.
	return slices.ContainsFunc(slices.Collect(maps.Keys(f.uidParts)), func(of string) bool { return strings.HasPrefix(of, part) })
}
