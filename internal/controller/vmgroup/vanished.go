package vmgroup

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// raceWindow is the time after the write of its finalizer in which a group can be removed in spite of it. API servers end a request after a
	// minute by default (--request-timeout).
	raceWindow = 2 * time.Minute
	// vanishedInterval is the longest time between two passes over a vanished group. Another group can have its name, and receive its events.
	vanishedInterval = 2 * time.Second
	// vanishedPatience is the time after which the operator stops, and reports the remaining VMs as orphans.
	vanishedPatience = time.Hour
	// mostVanished is the limit in bytes for the vanished groups of one member, about a thousand groups of three VMs. They are in no cache, and a
	// member that lies can make any number of groups vanish.
	mostVanished = 4 << 20
)

// vanished are groups that an API server removed although they carry the finalizer. A deletion that begins before the write of a finalizer and ends
// after it ignores the finalizer (kubernetes/kubernetes#77988). A user requested the deletion, so the operator completes it with the last state of the
// object, which is in memory only. It does so only for new groups whose finalizer this process wrote within raceWindow. It reports the VMs of other
// vanished groups, and of groups beyond [mostVanished], as orphans, and does not change them.
type vanished struct {
	mu      sync.Mutex
	claimed map[vsphere.GroupKey]claimedGroup
	groups  map[vsphere.GroupKey]vanishedGroup
}

// claimedGroup is a new group that got its finalizer.
type claimedGroup struct {
	at time.Time
	// resourceVersion is the last version that was seen.
	resourceVersion string
	// restores is the number of restores of the member's storage when the finalizer was written. Under another number the group is an older one.
	restores uint64
}

type vanishedGroup struct {
	request mcreconcile.Request
	key     vsphere.GroupKey
	since   time.Time
	// tenure of its bucket. Under another tenure, another replica can have allowed the adoption of its VMs.
	tenure uint64
	// group is the last state, with a deletionTimestamp and the status that it would have.
	group *v1alpha1.VmGroup
	// size in bytes of memory.
	size int64
}

func newVanished() *vanished {
	return &vanished{claimed: map[vsphere.GroupKey]claimedGroup{}, groups: map[vsphere.GroupKey]vanishedGroup{}}
}

// Claiming implements effect.Newcomers. It ignores older groups and groups that had a finalizer before: users remove finalizers to keep the VMs.
func (v *vanished) Claiming(key vsphere.GroupKey, group *v1alpha1.VmGroup, restores uint64, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.claimed, func(_ vsphere.GroupKey, c claimedGroup) bool { return now.Sub(c.at) > raceWindow })
	if s := &group.Status; s.ObservedGeneration == 0 && s.Folder == nil && len(s.VMs) == 0 && now.Sub(group.CreationTimestamp.Time) <= raceWindow {
		v.claimed[key] = claimedGroup{now, group.ResourceVersion, restores}
	}
}

// unclaim drops the write of a group's finalizer after a restore of the member's storage.
func (v *vanished) unclaim(key vsphere.GroupKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.claimed, key)
}

// seen records the version of a group that exists.
func (v *vanished) seen(key vsphere.GroupKey, group *v1alpha1.VmGroup) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.claimed[key]; ok {
		c.resourceVersion = group.ResourceVersion
		v.claimed[key] = c
	}
}

// add takes the last state of a removed group, and reports whether the operator completes its deletion.
func (v *vanished) add(request mcreconcile.Request, member fleet.Member, group *v1alpha1.VmGroup, tenure uint64, now time.Time) bool {
	key := keyOf(member.UID, group)
	v.mu.Lock()
	defer v.mu.Unlock()
	c, ours := v.claimed[key]
	if !ours || c.restores != member.Restores || now.Sub(c.at) > raceWindow || !later(group.ResourceVersion, c.resourceVersion) {
		return false
	}
	group = group.DeepCopy()
	group.DeletionTimestamp = &metav1.Time{Time: now}
	group.Labels = nil // they decide nothing; annotations can specify that the VMs stay
	size := untrusted.MemorySize(group)
	if v.size(key.Member())-v.groups[key].size+size > mostVanished {
		return false
	}
	v.groups[key] = vanishedGroup{request, key, now, tenure, group, size}
	return true
}

// size returns the memory of a member's groups in bytes. The caller holds the lock.
func (v *vanished) size(member string) (sum int64) {
	for key, g := range v.groups {
		if key.Member() == member {
			sum += g.size
		}
	}
	return sum
}

// later reports whether a request removed the object: then the event has the version of the removal. An object that is only missing from a new list, for
// example after a restore, has its last seen version. The event of multicluster-runtime v0.24 has no other difference.
func later(removed, last string) bool {
	order, err := resourceversion.CompareResourceVersion(removed, last)
	return err == nil && order > 0
}

// of returns the groups that had a name.
func (v *vanished) of(request mcreconcile.Request) []vanishedGroup {
	v.mu.Lock()
	defer v.mu.Unlock()
	var groups []vanishedGroup
	for _, g := range v.groups {
		if g.request == request {
			groups = append(groups, g)
		}
	}
	return groups
}

// store sets the status that the group would have.
func (v *vanished) store(key vsphere.GroupKey, group *v1alpha1.VmGroup) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if g, ok := v.groups[key]; ok {
		g.group = group.DeepCopy()
		v.groups[key] = g
	}
}

// lost drops a group that vanished under another tenure, and returns whether there was one.
func (v *vanished) lost(key vsphere.GroupKey, tenure uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	g, is := v.groups[key]
	if is = is && g.tenure != tenure; is {
		delete(v.groups, key)
	}
	return is
}

// has reports whether the operator completes the deletion of a group.
func (v *vanished) has(key vsphere.GroupKey) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, is := v.groups[key]
	return is
}

// drop drops the state of a group.
func (v *vanished) drop(key vsphere.GroupKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.groups, key) // and not from claimed: a pass can miss the group before the event of its removal comes
}

// vanishes handles the removal of a group, and reports whether the operator completes its deletion.
func (r *Reconciler) vanishes(ctx context.Context, request mcreconcile.Request, member fleet.Member, of *v1alpha1.VmGroup) bool {
	switch {
	case !of.DeletionTimestamp.IsZero(), !controllerutil.ContainsFinalizer(of, v1alpha1.VmGroupFinalizer), !r.holds(request):
		return false
	case group.Paused(of, "", false) != nil, controllerutil.ContainsFinalizer(of, v1alpha1.LegacyFinalizer):
		return false // no user could change that any more
	}
	shard := sharding.Key{ClusterUID: member.UID, Namespace: request.Namespace, Name: request.Name}
	if !r.vanished.add(request, member, of, r.Fleet.Tenure(shard), r.Now()) {
		return false
	}
	r.Fleet.KeepVanished(refOf(request), keyOf(member.UID, of), of, group.VCenterOf(of)) // a pass possibly saw the cache without it, and dropped its state
	r.logOfGroup(log.FromContext(ctx), refOf(request)).Info("A group was removed although its finalizer had just been written; its deletion continues without it",
		"uid", of.UID)
	return true
}

// buryVanished runs a pass over each vanished group of this name, and returns the time until the next one. like is a pass without a group.
func (r *Reconciler) buryVanished(ctx context.Context, request mcreconcile.Request, like pass) (after time.Duration, err error) {
	for _, v := range r.vanished.of(request) {
		if v.tenure != like.tenure {
			r.forgetVanished(v)
			continue
		}
		if like.Now.Sub(v.since) > vanishedPatience {
			log.FromContext(ctx).Error(nil, "The VMs of a group that was removed in spite of its finalizer could not be deleted; they are left alone", "uid", v.group.UID)
			r.forgetVanished(v)
			continue
		}
		exists := &v1alpha1.VmGroup{}
		getErr := like.Cache.Get(ctx, request.NamespacedName, exists)
		if getErr == nil && exists.UID == v.group.UID {
			r.vanished.drop(v.key) // a backup brought it back
			continue
		}
		if getErr != nil && !apierrors.IsNotFound(getErr) {
			return vanishedInterval, getErr
		}
		p := like
		p.vanished = &v
		r.memory.begin(objectOf(p.Member.UID, v.group), p.tenure)
		result, runErr := p.run(ctx, v.group)
		err = errors.Join(err, runErr)
		if len(r.vanished.of(request)) > 0 {
			after = sooner(after, cmp.Or(result.RequeueAfter, vanishedInterval))
		}
	}
	return after, err
}

// forgetVanished drops a vanished group.
func (r *Reconciler) forgetVanished(v vanishedGroup) {
	r.drop(fleet.Departed{Ref: refOf(v.request), Key: v.key, VCenter: group.VCenterOf(v.group)})
	r.Fleet.DropVanished(refOf(v.request), v.key)
}

// sooner returns the shorter of two waits. Zero is forever.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
