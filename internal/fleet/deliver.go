package fleet

import (
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// GroupChanged delivers a group. It ignores an unknown group: the group is not this operator's, or is not listed yet
// and will be reconciled when it is.
func (f *Fleet) GroupChanged(key vsphere.GroupKey) {
	if g, known := f.Group(key); known && f.holds(key, g.Ref) {
		deliver(f, &f.sinks.groups, Changed, g.Ref)
	}
}

// VCenterChanged delivers each group that uses the vCenter.
func (f *Fleet) VCenterChanged(vcenter string) { f.deliverIn(Scope{VCenter: vcenter}, Changed) }

// NamespaceChanged delivers each group of the namespace.
func (f *Fleet) NamespaceChanged(member, namespace string) {
	f.deliverIn(Scope{Member: member, Namespace: namespace}, Changed)
}

// PoliciesChanged delivers each group, and the subscribers of policies.
func (f *Fleet) PoliciesChanged() {
	f.deliverIn(Scope{}, Changed)
	deliver(f, &f.sinks.policies, Changed, struct{}{})
}

// Gained delivers each group of these buckets before all others.
func (f *Fleet) Gained(buckets []int) {
	if len(buckets) > 0 {
		f.deliverIn(Scope{Buckets: buckets}, TakenOver)
	}
}

// Lost raises the tenures of these buckets, which another replica can hold from now on, and delivers their groups as
// departed.
func (f *Fleet) Lost(buckets []int) {
	f.mu.Lock()
	for _, b := range buckets {
		f.losses[b]++
	}
	f.mu.Unlock()
	if len(buckets) == 0 {
		return
	}
	var lost []Departed
	f.visit(Scope{Buckets: buckets}, func(key vsphere.GroupKey, g Group) {
		lost = append(lost, Departed{g.Ref, key, g.VCenter})
	})
	deliver(f, &f.sinks.departed, Changed, lost...)
}

// Tenure is a number that increases whenever this replica loses the bucket of a group. Data that was recorded with
// another number can be wrong: another replica possibly acted on the group since. The number increases before the
// bucket can return; the event of the loss can arrive later.
func (f *Fleet) Tenure(of sharding.Key) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.losses[f.buckets.Bucket(of)]
}

func (f *Fleet) deliverIn(s Scope, why Reason) {
	type named struct {
		key vsphere.GroupKey
		ref Ref
	}
	var found []named
	f.visit(s, func(key vsphere.GroupKey, g Group) { found = append(found, named{key, g.Ref}) })
	var refs []Ref
	for _, n := range found {
		if f.holds(n.key, n.ref) {
			refs = append(refs, n.ref)
		}
	}
	deliver(f, &f.sinks.groups, why, refs...)
}

// holds reports whether this replica can act on a group: its member is connected, and its bucket is held. The
// replicas that hold other groups have the same data, or will when the buckets change hands.
func (f *Fleet) holds(key vsphere.GroupKey, ref Ref) bool {
	_, connected := f.Member(ref.Member)
	return connected && f.buckets.Holds(sharding.Key{ClusterUID: key.Member(), Namespace: ref.Namespace, Name: ref.Name})
}
