package vmgroup

import (
	"maps"
	"slices"
	"sync"
	"time"

	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Groups knows where each VmGroup lives, so that a change in a vCenter, a VCenter object, a namespace or a
// member, and a bucket that is taken over, reaches the groups it concerns. It is filled by the informers of all members,
// whoever the groups belong to. The zero value is not usable; see NewGroups.
type Groups struct {
	mu    sync.Mutex
	byKey map[vsphere.GroupKey]groupEntry
	keys  map[mcreconcile.Request]vsphere.GroupKey
	// within are the keys of byKey by namespace.
	within  map[memberNamespace]map[vsphere.GroupKey]struct{}
	enqueue func(request mcreconcile.Request, first bool)
	bucket  func(mcreconcile.Request) (int, bool)
	// gone gets each object that is dropped without news that it was deleted. A group of its key may be known by another name.
	gone func(vsphere.GroupKey, groupEntry)
	// counted and served are CountChanged and Serves of the Reconciler.
	counted func(member string)
	served  func(clusterUID string) bool
	// kept reports whether the VMs of a deleted group were kept: Kept of the Reconciler.
	kept func(vsphere.GroupKey) bool
	// users knows which of the groups that name a vCenter can use it. Without it all do.
	users vcenterUsers
	// twins is told of groups of two members with one UID, when the second is seen.
	twins func(uid string, one, other groupEntry)
	// clusters are the cluster UIDs of which groups were seen.
	clusters map[string]struct{}
	// members are those whose groups are all known, or were when they were engaged last.
	members map[string]struct{}
	// guards notice mass deletions, by member, by these rules and this clock.
	guards map[string]*guard
	rules  massdeletion.Rules
	now    func() time.Time
}

type groupEntry struct {
	request mcreconcile.Request
	vcenter string
	vms     int
	// acted is true if its status shows that VMs of it are, or were, in its vCenter.
	acted bool
	// expects is how many VMs the group counts on.
	expects int
	// recorded are the references of the VMs that its status shows, and unrecorded is true where that cannot be all of them.
	recorded   []string
	unrecorded bool
	// shows is what the group has of quotas by its status, which counts where the hub has no record of the group.
	shows policy.Usage
	// admits is what its status shows as admitted.
	admits policy.Usage
	// counts is what counts of it in a mass deletion, whatever its namespace says.
	counts massdeletion.Group
}

// NewGroups returns an empty registry.
func NewGroups() *Groups {
	return &Groups{
		byKey:   map[vsphere.GroupKey]groupEntry{},
		keys:    map[mcreconcile.Request]vsphere.GroupKey{},
		within:  map[memberNamespace]map[vsphere.GroupKey]struct{}{},
		members: map[string]struct{}{},
		guards:  map[string]*guard{},
		rules:   massdeletion.DefaultRules(),
		now:     time.Now,
		// Until the controller's queue runs nothing is lost: starting it reconciles every group.
		enqueue:  func(mcreconcile.Request, bool) {},
		bucket:   func(mcreconcile.Request) (int, bool) { return 0, false },
		counted:  func(string) {},
		gone:     func(vsphere.GroupKey, groupEntry) {},
		served:   func(string) bool { return false },
		kept:     func(vsphere.GroupKey) bool { return false },
		twins:    func(string, groupEntry, groupEntry) {},
		clusters: map[string]struct{}{},
	}
}

// deliverTo sends all later notifications to enqueue, which must not block; first are those that go before all others.
// bucket finds the bucket of a group, or false while its member is not engaged.
func (g *Groups) deliverTo(bucket func(mcreconcile.Request) (int, bool), enqueue func(request mcreconcile.Request, first bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bucket, g.enqueue = bucket, enqueue
}

// seen records a group that exists, the vCenter it uses and its number of VMs.
func (g *Groups) seen(request mcreconcile.Request, key vsphere.GroupKey, of *v1alpha1.VmGroup, vcenter string) {
	g.mu.Lock()
	old := g.keys[request]
	before := g.byKey[old]
	replaced := old != "" && old != key
	if replaced && before.request == request { // and not the same group by another name of its member
		g.take(old)
	}
	g.keys[request] = key
	was, known := g.byKey[key]
	recorded, unrecorded := group.Recorded(of)
	is := groupEntry{
		request: request, vcenter: vcenter, vms: int(of.Status.Replicas), expects: group.Expects(of), recorded: recorded, unrecorded: unrecorded, shows: group.Shows(of), admits: group.Admits(of), counts: massdeletion.Of(of),
		acted: group.Acted(of),
	}
	twin, isTwin := groupEntry{}, false
	if !known {
		twin, isTwin = g.twinOf(key)
	}
	g.put(key, is)
	g.mu.Unlock()
	if replaced {
		g.gone(old, groupEntry{request: request, vcenter: before.vcenter})
	}
	if isTwin {
		g.twins(key.Group(), is, twin)
	}
	if !known || was.vms != is.vms || massdeletion.HeldOf(was.counts) != massdeletion.HeldOf(is.counts) {
		g.counted(string(request.ClusterName))
	}
}

// twinOf returns a group of another cluster with the UID of this one. g.mu is held.
func (g *Groups) twinOf(key vsphere.GroupKey) (groupEntry, bool) {
	g.clusters[key.Member()] = struct{}{}
	for cluster := range g.clusters {
		if e, ok := g.byKey[vsphere.KeyOf(cluster, key.Group())]; ok && cluster != key.Member() {
			return e, true
		}
	}
	return groupEntry{}, false
}

// forget drops a group that does not exist any more, or whose member was left, and returns what was known of it. last is false for one that is
// unknown, or known by another name of its member. Engaging the member again records its groups again.
func (g *Groups) forget(request mcreconcile.Request) (key vsphere.GroupKey, entry groupEntry, last bool) {
	g.mu.Lock()
	key, known := g.keys[request]
	delete(g.keys, request)
	entry = g.byKey[key]
	if last = known && entry.request == request; last {
		g.take(key)
	}
	g.mu.Unlock()
	if known {
		g.counted(string(request.ClusterName))
	}
	return key, entry, last
}

// keep records a group that does not exist any more and still has VMs, so that it gets news. Another one may have its name.
func (g *Groups) keep(request mcreconcile.Request, key vsphere.GroupKey, of *v1alpha1.VmGroup, vcenter string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := massdeletion.Of(of)
	if counts.Wanted = 0; counts.Deleted.IsZero() {
		counts.Deleted = g.now()
	}
	g.put(key, groupEntry{request: request, vcenter: vcenter, vms: int(of.Status.Replicas), shows: group.Shows(of), admits: group.Admits(of), counts: counts, acted: true})
}

// forgetKey drops a group, and not another one that has its name by now.
func (g *Groups) forgetKey(request mcreconcile.Request, key vsphere.GroupKey) {
	g.mu.Lock()
	g.take(key)
	if g.keys[request] == key {
		delete(g.keys, request)
	}
	g.mu.Unlock()
	g.counted(string(request.ClusterName))
}

// entry returns what is known of a group.
func (g *Groups) entry(key vsphere.GroupKey) (groupEntry, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.byKey[key]
	return e, ok
}

// GroupChanged enqueues a group. One that is not known is ignored: it is not ours, or not listed yet and will be reconciled
// when it is.
func (g *Groups) GroupChanged(key vsphere.GroupKey) {
	g.mu.Lock()
	entry, ok := g.byKey[key]
	enqueue := g.enqueue
	g.mu.Unlock()
	if ok {
		enqueue(entry.request, false)
	}
}

// VCenterChanged enqueues every group that uses the vCenter.
func (g *Groups) VCenterChanged(vcenter string) {
	g.enqueueWhere(func(e groupEntry) bool { return e.vcenter == vcenter })
}

// MemberChanged enqueues every group of the member.
func (g *Groups) MemberChanged(member string) {
	g.enqueueWhere(func(e groupEntry) bool { return string(e.request.ClusterName) == member })
}

// PoliciesChanged enqueues every group.
func (g *Groups) PoliciesChanged() {
	g.enqueueWhere(func(groupEntry) bool { return true })
}

func (g *Groups) enqueueWhere(match func(groupEntry) bool) {
	g.mu.Lock()
	var requests []mcreconcile.Request
	for _, entry := range g.byKey {
		if match(entry) {
			requests = append(requests, entry.request)
		}
	}
	enqueue := g.enqueue
	g.mu.Unlock()
	for _, request := range requests {
		enqueue(request, false)
	}
}

// Gained enqueues every group of these buckets before all others: nobody has looked after them for a while.
func (g *Groups) Gained(buckets []int) {
	g.inBuckets(buckets, func(_ vsphere.GroupKey, e groupEntry) { g.enqueue(e.request, true) })
}

// inBuckets calls f for every group of these buckets, without the lock.
func (g *Groups) inBuckets(buckets []int, f func(vsphere.GroupKey, groupEntry)) {
	wanted := make(map[int]struct{}, len(buckets))
	for _, b := range buckets {
		wanted[b] = struct{}{}
	}
	g.mu.Lock()
	all, bucket := maps.Clone(g.byKey), g.bucket
	g.mu.Unlock()
	for key, entry := range all {
		if b, ok := bucket(entry.request); ok {
			if _, is := wanted[b]; is {
				f(key, entry)
			}
		}
	}
}

// ForgetMember drops the groups of a member that is gone for good.
func (g *Groups) ForgetMember(member string) {
	g.mu.Lock()
	delete(g.members, member)
	g.mu.Unlock()
	g.keepOnly(member, nil)
	g.mu.Lock()
	delete(g.guards, member)
	g.mu.Unlock()
}

// keepOnly drops the groups of a member that are not these: they were deleted while no watch was open.
func (g *Groups) keepOnly(member string, these map[mcreconcile.Request]vsphere.GroupKey) {
	g.mu.Lock()
	gone := map[object]groupEntry{}
	for request, key := range g.keys {
		if is, exists := these[request]; string(request.ClusterName) != member || exists && is == key {
			continue
		}
		delete(g.keys, request)
		gone[object{key, request.NamespacedName}] = groupEntry{request: request, vcenter: g.byKey[key].vcenter}
	}
	for key, e := range g.byKey { // also those that were kept; see keep
		if string(e.request.ClusterName) == member && g.keys[e.request] != key {
			g.take(key)
			gone[object{key, e.request.NamespacedName}] = e
		}
	}
	g.mu.Unlock()
	for of, e := range gone {
		g.gone(of.key, e)
	}
	if len(gone) > 0 {
		g.counted(member)
	}
}

// list records that all groups of a member are known now.
func (g *Groups) list(member string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[member] = struct{}{}
}

// listed reports whether all groups of a member are known, provided that it is engaged.
func (g *Groups) listed(member string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.members[member]
	return ok
}

// listedMembers returns the members whose groups are all known.
func (g *Groups) listedMembers() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.members))
}

// all returns a copy of what is known.
func (g *Groups) all() map[vsphere.GroupKey]groupEntry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.byKey)
}

// knows reports whether a group of this name was seen, and not since then that it is gone.
func (g *Groups) knows(request mcreconcile.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.keys[request]
	return known
}

// vcenterOf returns the vCenter of a group that was seen before, or "".
func (g *Groups) vcenterOf(request mcreconcile.Request) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byKey[g.keys[request]].vcenter
}

// Orphans returns those of these VMs whose group certainly does not exist: its member is engaged and does not have it. Of
// members that are away nothing is known. VMs that somebody kept are none.
func (g *Groups) Orphans(vms []vsphere.VM) []vsphere.VM { return g.without(vms, false) }

// Released returns those of these VMs whose group does not exist, and that somebody kept.
func (g *Groups) Released(vms []vsphere.VM) []vsphere.VM { return g.without(vms, true) }

// without returns those of these VMs whose group does not exist, and that were kept, or were not.
func (g *Groups) without(vms []vsphere.VM, kept bool) []vsphere.VM {
	var found []vsphere.VM
	for _, vm := range vms {
		if vm.Stamp == nil || !g.served(vm.Stamp.Member) {
			continue
		}
		g.mu.Lock()
		_, known := g.byKey[vm.Stamp.Key()]
		g.mu.Unlock()
		if !known && g.kept(vm.Stamp.Key()) == kept {
			found = append(found, vm)
		}
	}
	return found
}

// CountMember returns the number of groups of a member, and of their VMs.
func (g *Groups) CountMember(member string) (groups, vms int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, entry := range g.byKey {
		if string(entry.request.ClusterName) == member {
			groups++
			vms += entry.vms
		}
	}
	return groups, vms
}

// Expected returns which VMs the groups of these members count on in a vCenter. known is false while not all of their groups are known.
func (g *Groups) Expected(vcenter string, members []string) (e vsphere.Expectation, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, member := range members {
		if _, listed := g.members[member]; !listed {
			return vsphere.Expectation{}, false
		}
	}
	for _, entry := range g.byKey {
		if entry.vcenter != vcenter {
			continue
		}
		e.VMs += entry.expects
		e.Unrecorded = e.Unrecorded || entry.unrecorded
		for _, ref := range entry.recorded {
			e.Recorded = append(e.Recorded, vsphere.VMRef(ref))
		}
	}
	return e, true
}
