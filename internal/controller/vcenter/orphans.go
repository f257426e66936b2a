package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	orphaned "github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// orphanPatience is the minimum time without a group before a VM is reported. A newly engaged member has not listed all its
// groups yet, and a member that is being removed lists none.
const orphanPatience = time.Minute

// orphans stores since when VMs have no group, by VCenter. Its zero value is ready.
type orphans struct {
	mu   sync.Mutex
	seen map[string]sighting
}

// sighting holds the times of the first and last search of a VCenter's VMs. It also holds since when VMs have no group, the
// reported VMs among them, and the members with VMs that may have to be reported.
type sighting struct {
	first, at time.Time
	since     map[vsphere.Ref]time.Time
	reported  []vsphere.VM
	undecided sets.Set[string]
}

// due reports whether the VMs are to be searched again.
func (s sighting) due(now time.Time) bool { return s.at.IsZero() || now.Sub(s.at) >= lookInterval }

// idle reports whether the next look needs no members: it searches nothing, and reports nothing.
func (o *orphans) idle(vcenter string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seen[vcenter]
	return !s.due(now) && len(s.reported) == 0
}

// search has the VMs whose groups do not exist, and those of which that is unknown. members are the names of all members, by cluster UID.
type search struct {
	absent, unknown []vsphere.VM
	members         map[string]string
}

// look returns the VMs of a VCenter that have had no group for orphanPatience, sorted by reference. A reported VM stays reported
// while its group is unknown. It calls find, which asks for each group, at most once per lookInterval.
func (o *orphans) look(vcenter string, now time.Time, find func() search) []vsphere.VM {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.seen[vcenter]
	if !last.due(now) {
		return last.reported
	}
	next := sighting{first: last.first, at: now, since: map[vsphere.Ref]time.Time{}, undecided: sets.New[string]()}
	if next.first.IsZero() {
		next.first = now
	}
	found := find()
	for i, vm := range slices.Concat(found.absent, found.unknown) {
		absent := i < len(found.absent)
		since, seen := last.since[vm.Ref]
		if !seen {
			since = now
		}
		if reported := seen && last.at.Sub(since) >= orphanPatience; absent || reported {
			next.since[vm.Ref] = since
		}
		if _, counts := next.since[vm.Ref]; counts && now.Sub(since) >= orphanPatience {
			next.reported = append(next.reported, vm)
		} else {
			next.undecided.Insert(found.members[vm.Stamp.Member])
		}
	}
	slices.SortFunc(next.reported, func(a, b vsphere.VM) int { return strings.Compare(a.Ref.Value, b.Ref.Value) })
	if o.seen == nil {
		o.seen = map[string]sighting{}
	}
	o.seen[vcenter] = next
	return next.reported
}

// forget drops the state of a VCenter.
func (o *orphans) forget(vcenter string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, vcenter)
}

// complete returns the time until which the last result counts as complete, and the members for which it does not. The time is zero if the
// VCenter has not been searched for orphanPatience.
func (o *orphans) complete(vcenter string, now time.Time) (undecided sets.Set[string], until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seen[vcenter]
	if now.Sub(s.first) >= orphanPatience {
		until = s.at.Add(orphanPatience)
	}
	return s.undecided, until
}

// lookForOrphans returns the deleted groups with VMs in a vCenter, separated from those whose VMs were kept. decided is true if these are
// all. The fleet delivers the members of the former.
func (r *Reconciler) lookForOrphans(ctx context.Context, vcenter string, current Connection) (groups, released []orphaned.Group, decided bool, err error) {
	now := r.Now()
	var list v1alpha1.MemberClusterList
	if !r.orphans.idle(vcenter, now) || !r.released.idle(vcenter, now) { // each event of a VM comes here
		if err := r.Client.List(ctx, &list); err != nil {
			return nil, nil, false, fmt.Errorf("read MemberClusters: %w", err)
		}
	}
	names := make(map[string]string, len(list.Items))
	for i := range list.Items {
		names[list.Items[i].Status.ClusterUID] = list.Items[i].Name
	}
	memberOf := func(clusterUID string) string { return names[clusterUID] }
	vms := r.orphans.look(vcenter, now, func() search { return r.without(current, names, false) })
	kept := r.released.look(vcenter, now, func() search { return r.without(current, names, true) })
	groups, released = orphaned.Of(vms, current.FolderPath, memberOf), orphaned.Of(kept, current.FolderPath, memberOf)
	undecided, until := r.orphans.complete(vcenter, now)
	r.Groups.SetOrphans(vcenter, groups, undecided, until)
	undecidedKept, _ := r.released.complete(vcenter, now)
	return groups, released, len(undecided)+len(undecidedKept) == 0 && now.Before(until), nil
}

// without returns the VMs without a group whose receipt matches kept. VMs of a cluster that no MemberCluster leads to are none of them.
func (r *Reconciler) without(current Connection, members map[string]string, kept bool) search {
	var none, maybe []vsphere.GroupKey
	for _, group := range current.OwnedGroups() {
		absent, known := r.Groups.Absent(group)
		switch {
		case known && !absent, !known && members[group.Member()] == "", (r.Receipts != nil && r.Receipts.Keeps(group)) != kept:
		case absent:
			none = append(none, group)
		default:
			maybe = append(maybe, group)
		}
	}
	return search{absent: current.Owned(none...), unknown: current.Owned(maybe...), members: members}
}

func orphanedVMs(groups []orphaned.Group) condition {
	return condition{v1alpha1.ConditionOrphanedVMs, metav1.ConditionTrue, v1alpha1.ReasonGroupGone, fmt.Sprintf(
		"%d VMs carry this installation's stamp, but their VmGroups do not exist any more: %s. A user removed a finalizer, restored a VM or a member's etcd, or deleted a VmGroup at the moment it was created. %s",
		orphaned.Count(groups), orphaned.Describe(groups), orphaned.WayOut(groups))}
}
