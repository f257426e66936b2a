package vcenter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	orphaned "github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// orphanPatience is how long a VM must have been without a group before that is reported: a member that was engaged a
// moment ago has not told of all its groups, and one that is being left tells of none.
const orphanPatience = time.Minute

// orphans remembers since when VMs are without a group, by VCenter. Its zero value is ready.
type orphans struct {
	mu   sync.Mutex
	seen map[string]sighting
}

// sighting is when a VCenter's VMs were looked through first and last, since when those without a group are so, and which of them
// are reported.
type sighting struct {
	first, at time.Time
	since     map[vsphere.Ref]time.Time
	reported  []vsphere.VM
	// told are the same by the groups that they were of, as they were told last.
	told []orphaned.Group
}

// look returns the VMs of a VCenter that have been without a group for long enough, by reference. It calls find, which looks
// through all VMs, once in a while only.
func (o *orphans) look(vcenter string, now time.Time, find func() []vsphere.VM) []vsphere.VM {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.seen[vcenter]
	if !last.at.IsZero() && now.Sub(last.at) < lookInterval {
		return last.reported
	}
	next := sighting{first: last.first, at: now, since: map[vsphere.Ref]time.Time{}, told: last.told}
	if next.first.IsZero() {
		next.first = now
	}
	for _, vm := range find() {
		since, known := last.since[vm.Ref]
		if !known {
			since = now
		}
		next.since[vm.Ref] = since
		if now.Sub(since) >= orphanPatience {
			next.reported = append(next.reported, vm)
		}
	}
	slices.SortFunc(next.reported, func(a, b vsphere.VM) int { return strings.Compare(a.Ref.Value, b.Ref.Value) })
	if o.seen == nil {
		o.seen = map[string]sighting{}
	}
	o.seen[vcenter] = next
	return next.reported
}

// tell remembers what is told of a VCenter, and returns the members of which something else is told than before.
func (o *orphans) tell(vcenter string, groups []orphaned.Group) (members []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seen[vcenter]
	before, after := byMember(s.told), byMember(groups)
	s.told = groups
	o.seen[vcenter] = s
	for _, member := range slices.Sorted(maps.Keys(mergedKeys(before, after))) {
		if before[member] != after[member] {
			members = append(members, member)
		}
	}
	return members
}

// forget drops what is known of a VCenter, and returns the members of which VMs were told there.
func (o *orphans) forget(vcenter string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	members := slices.Sorted(maps.Keys(byMember(o.seen[vcenter].told)))
	delete(o.seen, vcenter)
	return members
}

// of returns the groups of a member whose VMs are told. known is false while somebody may be missing: a VCenter was not looked through for long enough.
func (o *orphans) of(member string, vcenters []string, now time.Time) (groups []orphaned.Group, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known = true
	for _, name := range vcenters {
		s, ok := o.seen[name]
		known = known && ok && now.Sub(s.first) >= orphanPatience && now.Sub(s.at) < orphanPatience
		groups = append(groups, slices.DeleteFunc(slices.Clone(s.told), func(g orphaned.Group) bool { return g.Member != member })...)
	}
	return groups, known
}

func byMember(groups []orphaned.Group) map[string]string {
	out := map[string]string{}
	for _, g := range groups {
		if g.Member != "" {
			out[g.Member] += fmt.Sprintf("%s %v;", g.Key, g.VMs)
		}
	}
	return out
}

func mergedKeys(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// lookForOrphans returns the groups whose VMs are in a vCenter and that do not exist any more, apart from those whose VMs somebody kept. It
// tells the members of the former.
func (r *Reconciler) lookForOrphans(ctx context.Context, vcenter string, current Connection) (groups, released []orphaned.Group, err error) {
	now := r.Now()
	vms := r.orphans.look(vcenter, now, func() []vsphere.VM { return r.Groups.Orphans(current.Owned()) })
	kept := r.released.look(vcenter, now, func() []vsphere.VM { return r.Groups.Released(current.Owned()) })
	if len(vms)+len(kept) > 0 {
		var list v1alpha1.MemberClusterList
		if err := r.Client.List(ctx, &list); err != nil {
			return nil, nil, fmt.Errorf("read MemberClusters: %w", err)
		}
		memberOf := func(clusterUID string) string {
			for i := range list.Items {
				if list.Items[i].Status.ClusterUID == clusterUID {
					return list.Items[i].Name
				}
			}
			return ""
		}
		groups, released = orphaned.Of(vms, current.FolderPath, memberOf), orphaned.Of(kept, current.FolderPath, memberOf)
	}
	r.tellMembers(r.orphans.tell(vcenter, groups))
	return groups, released, nil
}

func (r *Reconciler) tellMembers(members []string) {
	for _, member := range members {
		if r.OrphansChanged != nil {
			r.OrphansChanged(member)
		}
	}
}

// OrphansOf returns the groups of a member that do not exist any more and have VMs in any vCenter. known is false while there may be more.
func (r *Reconciler) OrphansOf(member string) (groups []orphaned.Group, known bool) {
	r.mu.Lock()
	vcenters := slices.Sorted(maps.Keys(r.uids))
	r.mu.Unlock()
	return r.orphans.of(member, vcenters, r.Now())
}

func orphanedVMs(groups []orphaned.Group) condition {
	return condition{v1alpha1.ConditionOrphanedVMs, metav1.ConditionTrue, v1alpha1.ReasonGroupGone, fmt.Sprintf(
		"%d VMs carry this installation's stamp, but their VmGroups do not exist any more: %s. Somebody removed a finalizer by hand, restored a VM or a member's etcd, or deleted a VmGroup at the moment it was created. %s",
		orphaned.Count(groups), orphaned.Describe(groups), orphaned.WayOut(groups))}
}
