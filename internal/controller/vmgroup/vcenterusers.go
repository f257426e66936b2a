package vmgroup

import (
	"context"

	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// vcenterUsers distinguishes groups that use a vCenter from those that only name it. *Reconciler implements it.
type vcenterUsers interface {
	// granted reports whether a grant lets a group use a vCenter, or that is unknown.
	granted(ctx context.Context, request mcreconcile.Request, vcenter string, grants []v1alpha1.Grant) bool
	// onRecord reports whether the hub has, or can have, a record of what was admitted to a group.
	onRecord(request mcreconcile.Request, key vsphere.GroupKey) bool
}

// CountVCenter returns the number of groups that use a vCenter with these grants. A group that names it counts if a grant lets the group use it, or if its status or
// the hub's records show that something was made for the group. Any tenant can name any vCenter.
func (g *Groups) CountVCenter(ctx context.Context, vcenter string, grants []v1alpha1.Grant) (n int) {
	g.mu.Lock()
	users, found := g.users, map[vsphere.GroupKey]groupEntry{}
	for key, entry := range g.byKey {
		if entry.vcenter == vcenter {
			found[key] = entry
		}
	}
	g.mu.Unlock()
	for key, e := range found {
		if users == nil || e.acted || users.onRecord(e.request, key) || users.granted(ctx, e.request, vcenter, grants) {
			n++
		}
	}
	return n
}

func (r *Reconciler) granted(ctx context.Context, request mcreconcile.Request, vcenter string, grants []v1alpha1.Grant) bool {
	requester, err := r.Requester(ctx, memberOf(request), request.Namespace)
	return err != nil || policy.CheckVCenter(vcenter, grants, requester) == nil
}

func (r *Reconciler) onRecord(request mcreconcile.Request, key vsphere.GroupKey) bool {
	member, engaged := r.Members(memberOf(request))
	if !engaged {
		return true
	}
	record := r.record(member, key)
	return record.Admitted != nil || record.Unread != ""
}
