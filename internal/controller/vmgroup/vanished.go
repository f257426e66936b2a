package vmgroup

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const (
	// raceWindow is how long after its finalizer was written a group may be removed in spite of it: an API server gives
	// up a request after a minute, unless it is told otherwise (--request-timeout).
	raceWindow = 2 * time.Minute
	// vanishedInterval is how often the VMs of a group that has vanished are looked after. Another group may have its name
	// by now, and get the news that were its.
	vanishedInterval = time.Second
)

// vanished are groups that an API server removed although they carry the finalizer. Kubernetes does that: a deletion that was
// begun before a finalizer is written and ends after it does not look at it (kubernetes/kubernetes#77988). Somebody asked for
// the deletion, so it is carried out, with the object as it was last. That is remembered in memory only, and done only for groups
// whose finalizer this process wrote a moment ago; the VMs of all others that vanish are reported as orphans and not touched.
type vanished struct {
	mu      sync.Mutex
	claimed map[types.UID]time.Time
	groups  map[mcreconcile.Request]map[types.UID]*v1alpha1.VmGroup
}

func newVanished() *vanished {
	return &vanished{claimed: map[types.UID]time.Time{}, groups: map[mcreconcile.Request]map[types.UID]*v1alpha1.VmGroup{}}
}

// claiming says that a group's finalizer is about to be written.
func (v *vanished) claiming(uid types.UID, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.claimed, func(_ types.UID, at time.Time) bool { return now.Sub(at) > raceWindow })
	v.claimed[uid] = now
}

// add takes the last state of a group that was removed. It reports whether the group is to be deleted by us.
func (v *vanished) add(request mcreconcile.Request, group *v1alpha1.VmGroup, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, ours := v.claimed[group.UID]
	if !ours || now.Sub(at) > raceWindow || group.Spec.Paused || pausedByAnnotation(group.Annotations) {
		return false // nobody could end the pause
	}
	group = group.DeepCopy()
	group.DeletionTimestamp = &metav1.Time{Time: now}
	if v.groups[request] == nil {
		v.groups[request] = map[types.UID]*v1alpha1.VmGroup{}
	}
	v.groups[request][group.UID] = group
	return true
}

// of returns the groups that had a name.
func (v *vanished) of(request mcreconcile.Request) []*v1alpha1.VmGroup {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.groups[request]))
}

// store keeps what would be the group's status.
func (v *vanished) store(request mcreconcile.Request, group *v1alpha1.VmGroup) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.groups[request][group.UID] = group.DeepCopy()
}

// drop forgets a group that nothing is left of.
func (v *vanished) drop(request mcreconcile.Request, uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.claimed, uid)
	if delete(v.groups[request], uid); len(v.groups[request]) == 0 {
		delete(v.groups, request)
	}
}

// vanishes takes the news that a group was removed, and reports whether its VMs are to be looked after. Only the API server's own
// word counts: what a new list lacks may be missing because its storage was restored.
func (r *Reconciler) vanishes(request mcreconcile.Request, e event.DeleteEvent) bool {
	group, ok := e.Object.(*v1alpha1.VmGroup)
	if !ok || e.DeleteStateUnknown || !group.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(group, v1alpha1.VmGroupFinalizer) {
		return false
	}
	if !r.vanished.add(request, group, r.Now()) {
		return false
	}
	r.Groups.keep(request, group, vcenterOf(group)) // a pass may have seen the cache without it, and forgotten it
	return true
}

// buryVanished runs a pass over each group of this name that has vanished. It reports whether there was any. like is a pass
// without a group.
func (r *Reconciler) buryVanished(ctx context.Context, request mcreconcile.Request, like pass) (bool, error) {
	groups := r.vanished.of(request)
	for _, group := range groups {
		p := like
		p.group, p.id.Group, p.vanished = group.DeepCopy(), string(group.UID), &request
		log.FromContext(ctx).V(1).Info("The group was removed in spite of its finalizer; deleting its VMs", "uid", group.UID)
		if _, err := p.run(ctx); err != nil {
			return true, err
		}
	}
	return len(groups) > 0, nil
}

// buried ends the work for a group that has vanished.
func (p *pass) buried() {
	p.r.vanished.drop(*p.vanished, p.group.UID)
	p.r.Groups.forgetUID(*p.vanished, p.group.UID)
	p.r.drop(p.group.UID)
}

// soon makes a result come back for groups that have vanished.
func soon(result reconcile.Result) reconcile.Result {
	if result.RequeueAfter == 0 || result.RequeueAfter > vanishedInterval {
		result.RequeueAfter = vanishedInterval
	}
	return result
}
