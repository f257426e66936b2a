package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// sighting holds the times of the first and last search of a VCenter's VMs. It also holds since when VMs have no group, and the
// reported VMs among them.
type sighting struct {
	first, at time.Time
	since     map[vsphere.Ref]time.Time
	reported  []vsphere.VM
}

// look returns the VMs of a VCenter that have had no group for orphanPatience, sorted by reference. It calls find, which reads
// all VMs, at most once per lookInterval.
func (o *orphans) look(vcenter string, now time.Time, find func() []vsphere.VM) []vsphere.VM {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.seen[vcenter]
	if !last.at.IsZero() && now.Sub(last.at) < lookInterval {
		return last.reported
	}
	next := sighting{first: last.first, at: now, since: map[vsphere.Ref]time.Time{}}
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

// forget drops the state of a VCenter.
func (o *orphans) forget(vcenter string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, vcenter)
}

// until returns the time until which the last result counts as complete. It is zero if the VCenter has not been searched for
// orphanPatience.
func (o *orphans) until(vcenter string, now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.seen[vcenter]; now.Sub(s.first) >= orphanPatience {
		return s.at.Add(orphanPatience)
	}
	return time.Time{}
}

// lookForOrphans returns the deleted groups with VMs in a vCenter, separated from those whose VMs were kept. The fleet delivers
// the members of the former.
func (r *Reconciler) lookForOrphans(ctx context.Context, vcenter string, current Connection) (groups, released []orphaned.Group, err error) {
	now := r.Now()
	vms := r.orphans.look(vcenter, now, func() []vsphere.VM { return r.without(current.Owned(), false) })
	kept := r.released.look(vcenter, now, func() []vsphere.VM { return r.without(current.Owned(), true) })
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
	r.Groups.SetOrphans(vcenter, groups, r.orphans.until(vcenter, now))
	return groups, released, nil
}

// without returns the VMs whose group certainly does not exist and whose receipt matches kept.
func (r *Reconciler) without(vms []vsphere.VM, kept bool) []vsphere.VM {
	var found []vsphere.VM
	for _, vm := range vms {
		if vm.Stamp != nil && r.Groups.Absent(vm.Stamp.Key()) && (r.Receipts != nil && r.Receipts.Keeps(vm.Stamp.Key())) == kept {
			found = append(found, vm)
		}
	}
	return found
}

func orphanedVMs(groups []orphaned.Group) condition {
	return condition{v1alpha1.ConditionOrphanedVMs, metav1.ConditionTrue, v1alpha1.ReasonGroupGone, fmt.Sprintf(
		"%d VMs carry this installation's stamp, but their VmGroups do not exist any more: %s. A user removed a finalizer, restored a VM or a member's etcd, or deleted a VmGroup at the moment it was created. %s",
		orphaned.Count(groups), orphaned.Describe(groups), orphaned.WayOut(groups))}
}
