package vcenter

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// orphanPatience is how long a VM must have been without a group before that is reported: a member that was engaged a
	// moment ago has not told of all its groups, and one that is being left tells of none.
	orphanPatience = time.Minute
	// maxOrphans are named in a message.
	maxOrphans = 5
)

// orphans remembers since when VMs are without a group, by VCenter. Its zero value is ready.
type orphans struct {
	mu   sync.Mutex
	seen map[string]sighting
}

// sighting is when a VCenter's VMs were looked through last, since when those without a group are so, and which of them
// are reported.
type sighting struct {
	at       time.Time
	since    map[string]time.Time
	reported []string
}

// look returns the VMs of a VCenter that have been without a group for long enough, sorted. It calls find, which looks
// through all VMs, once in a while only.
func (o *orphans) look(vcenter string, now time.Time, find func() []string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.seen[vcenter]
	if !last.at.IsZero() && now.Sub(last.at) < lookInterval {
		return last.reported
	}
	next := sighting{at: now, since: map[string]time.Time{}}
	for _, vm := range find() {
		since, known := last.since[vm]
		if !known {
			since = now
		}
		next.since[vm] = since
		if now.Sub(since) >= orphanPatience {
			next.reported = append(next.reported, vm)
		}
	}
	slices.Sort(next.reported)
	if o.seen == nil {
		o.seen = map[string]sighting{}
	}
	o.seen[vcenter] = next
	return next.reported
}

// orphanNames says which VMs these are, and where: the path of a group's folder ends with its member, its namespace and its name.
func orphanNames(vms []vsphere.VM, path func(folder vsphere.Ref) string) []string {
	names := make([]string, 0, len(vms))
	for _, vm := range vms {
		name := fmt.Sprintf("%s (%s)", vm.Name, vm.Ref.Value)
		if p := path(vm.Folder); p != "" {
			name += " in " + p
		}
		names = append(names, name)
	}
	return names
}

func orphaned(names []string) condition {
	named := strings.Join(names[:min(len(names), maxOrphans)], ", ")
	if more := len(names) - maxOrphans; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return condition{v1alpha1.ConditionOrphanedVMs, metav1.ConditionTrue, v1alpha1.ReasonGroupGone, fmt.Sprintf(
		"%d VMs carry this installation's stamp, but their VmGroups do not exist any more: %s. A folder's path ends with the member, the namespace and the group. Nobody touches these VMs. Somebody removed a finalizer by "+
			"hand, restored a VM, or deleted a VmGroup at the moment it was created; delete in vCenter what is not needed", len(names), named)}
}
