package vmgroup

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Groups knows where each VmGroup lives, so that a change in a vCenter, a VCenter object, a namespace or a
// member reaches the groups it concerns. It is filled by reconciling: every group is reconciled once when its
// member is engaged. The zero value is not usable; see NewGroups.
type Groups struct {
	mu      sync.Mutex
	byUID   map[types.UID]groupEntry
	uids    map[mcreconcile.Request]types.UID
	enqueue func(mcreconcile.Request)
	counted func(member string)
}

type groupEntry struct {
	request mcreconcile.Request
	vcenter string
	vms     int
}

// NewGroups returns an empty registry.
func NewGroups() *Groups {
	return &Groups{
		byUID: map[types.UID]groupEntry{},
		uids:  map[mcreconcile.Request]types.UID{},
		// Until the controller's queue runs nothing is lost: starting it reconciles every group.
		enqueue: func(mcreconcile.Request) {},
		counted: func(string) {},
	}
}

// OnCount registers a function that is called with the name of a member whose counts changed. It must be
// called before the controller runs, and the function must not block.
func (g *Groups) OnCount(counted func(member string)) { g.counted = counted }

// deliverTo sends all later notifications to enqueue, which must not block.
func (g *Groups) deliverTo(enqueue func(mcreconcile.Request)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enqueue = enqueue
}

// seen records a group that exists, the vCenter it uses and its number of VMs.
func (g *Groups) seen(request mcreconcile.Request, group *v1alpha1.VmGroup, vcenter string) {
	g.mu.Lock()
	if old, ok := g.uids[request]; ok && old != group.UID {
		delete(g.byUID, old)
	}
	g.uids[request] = group.UID
	was, known := g.byUID[group.UID]
	is := groupEntry{request: request, vcenter: vcenter, vms: int(group.Status.Replicas)}
	g.byUID[group.UID] = is
	g.mu.Unlock()
	if !known || was.vms != is.vms {
		g.counted(string(request.ClusterName))
	}
}

// forget drops a group that does not exist any more, or whose member was left, and returns its UID, or "" if
// it was not known. Engaging the member again records its groups again.
func (g *Groups) forget(request mcreconcile.Request) types.UID {
	g.mu.Lock()
	uid, known := g.uids[request]
	delete(g.uids, request)
	delete(g.byUID, uid)
	g.mu.Unlock()
	if known {
		g.counted(string(request.ClusterName))
	}
	return uid
}

// GroupChanged enqueues the group with this UID. An unknown UID is ignored: its group is not ours, or not
// listed yet and will be reconciled when it is.
func (g *Groups) GroupChanged(uid string) {
	g.mu.Lock()
	entry, ok := g.byUID[types.UID(uid)]
	enqueue := g.enqueue
	g.mu.Unlock()
	if ok {
		enqueue(entry.request)
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

// namespaceChanged enqueues every group of a namespace.
func (g *Groups) namespaceChanged(member, namespace string) {
	g.enqueueWhere(func(e groupEntry) bool {
		return string(e.request.ClusterName) == member && e.request.Namespace == namespace
	})
}

func (g *Groups) enqueueWhere(match func(groupEntry) bool) {
	g.mu.Lock()
	var requests []mcreconcile.Request
	for _, entry := range g.byUID {
		if match(entry) {
			requests = append(requests, entry.request)
		}
	}
	enqueue := g.enqueue
	g.mu.Unlock()
	for _, request := range requests {
		enqueue(request)
	}
}

// vcenterOf returns the vCenter of a group that was seen before, or "".
func (g *Groups) vcenterOf(request mcreconcile.Request) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byUID[g.uids[request]].vcenter
}

// CountMember returns the number of groups of a member, and of their VMs.
func (g *Groups) CountMember(member string) (groups, vms int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, entry := range g.byUID {
		if string(entry.request.ClusterName) == member {
			groups++
			vms += entry.vms
		}
	}
	return groups, vms
}

// CountVCenter returns the number of groups that use a vCenter.
func (g *Groups) CountVCenter(vcenter string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, entry := range g.byUID {
		if entry.vcenter == vcenter {
			n++
		}
	}
	return n
}
