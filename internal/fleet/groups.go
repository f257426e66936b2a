package fleet

import (
	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// SetGroup records a group that exists, the vCenter that it uses and its VMs.
func (f *Fleet) SetGroup(ref Ref, key vsphere.GroupKey, of *v1alpha1.VmGroup, vcenter string) {
	is := groupOf(ref, of, vcenter)
	f.mu.Lock()
	names := f.member(ref.Member).names
	old := names[ref]
	before := f.groups[old]
	replaced := old != "" && old != key
	if replaced && before.Ref == ref { // and not the same group by another name of its member
		f.take(old)
	}
	names[ref] = key
	was, known := f.groups[key]
	twin, isTwin := Ref{}, false
	if !known {
		twin, isTwin = f.twinOf(key)
	}
	f.put(key, is)
	f.mu.Unlock()
	if replaced {
		deliver(f, &f.sinks.departed, Changed, Departed{ref, old, before.VCenter})
	}
	if isTwin {
		deliver(f, &f.sinks.twins, Changed, Twins{key.Group(), ref, twin})
	}
	if !known || was.VMs != is.VMs || massdeletion.HeldOf(was.Removes) != massdeletion.HeldOf(is.Removes) {
		deliver(f, &f.sinks.members, Changed, ref.Member)
	}
}

// twinOf returns a group of another cluster with the UID of this one. The caller holds f.mu.
func (f *Fleet) twinOf(key vsphere.GroupKey) (Ref, bool) {
	for _, other := range f.byUIDPart[partOf(key.Group())] {
		if other.Group() == key.Group() && other.Member() != key.Member() {
			return f.groups[other].Ref, true
		}
	}
	return Ref{}, false
}

// DeleteGroup drops a group that does not exist any more, or whose member was left, and returns its data. last is
// false for an unknown group, or one that is known by another name of its member. Engaging the member again records
// its groups again.
func (f *Fleet) DeleteGroup(ref Ref) (key vsphere.GroupKey, of Group, last bool) {
	f.mu.Lock()
	known := false
	if m := f.members[ref.Member]; m != nil {
		key, known = m.names[ref]
		delete(m.names, ref)
	}
	of = f.groups[key]
	if last = known && of.Ref == ref; last {
		f.take(key)
	}
	f.mu.Unlock()
	if known {
		deliver(f, &f.sinks.members, Changed, ref.Member)
	}
	return key, of, last
}

// KeepVanished records a group that does not exist any more but still has VMs, so that it is still delivered. Another
// group can have its name.
func (f *Fleet) KeepVanished(ref Ref, key vsphere.GroupKey, of *v1alpha1.VmGroup, vcenter string) {
	is := groupOf(ref, of, vcenter)
	is.Acted, is.Expects, is.Recorded, is.Unrecorded, is.shape = true, 0, nil, false, nil
	if is.Removes.Wanted = 0; is.Removes.Deleted.IsZero() {
		is.Removes.Deleted = f.clock.Now()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(key, is)
}

// DropVanished drops a group, but not another one that has its name now.
func (f *Fleet) DropVanished(ref Ref, key vsphere.GroupKey) {
	f.mu.Lock()
	f.take(key)
	if m := f.members[ref.Member]; m != nil && m.names[ref] == key {
		delete(m.names, ref)
	}
	f.mu.Unlock()
	deliver(f, &f.sinks.members, Changed, ref.Member)
}

// Expected returns the VMs that the groups of these members expect in a vCenter. known is false while some of their
// groups are unknown.
func (f *Fleet) Expected(vcenter string, members []string) (e vsphere.Expectation, known bool) {
	if !f.Listed(members...) {
		return vsphere.Expectation{}, false
	}
	f.visit(Scope{VCenter: vcenter}, func(_ vsphere.GroupKey, g Group) {
		e.VMs += g.Expects
		e.Unrecorded = e.Unrecorded || g.Unrecorded
		for _, ref := range g.Recorded {
			e.Recorded = append(e.Recorded, vsphere.VMRef(ref))
		}
	})
	return e, true
}
