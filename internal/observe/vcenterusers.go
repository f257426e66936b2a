package observe

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// CountVCenter returns the number of groups that use a vCenter with these grants. Any tenant can name any vCenter. So a group
// that names it counts only if a grant allows its use, or if status or the hub's records show that the operator acted for it
// there.
func (o *Observer) CountVCenter(ctx context.Context, vcenter string, grants []v1alpha1.Grant) (n int) {
	for key, g := range o.Fleet.In(fleet.Scope{VCenter: vcenter}) {
		if g.Acted || o.onRecord(g.Ref, key) || o.granted(ctx, g.Ref, vcenter, grants) {
			n++
		}
	}
	return n
}

// CountActed returns the number of groups for which the operator acted in a vCenter, according to status or the hub's records.
func (o *Observer) CountActed(vcenter string) (n int) {
	for key, g := range o.Fleet.In(fleet.Scope{VCenter: vcenter}) {
		if g.Acted || o.onRecord(g.Ref, key) {
			n++
		}
	}
	return n
}

// granted reports whether a grant allows a group to use a vCenter, or whether that is unknown.
func (o *Observer) granted(ctx context.Context, of fleet.Ref, vcenter string, grants []v1alpha1.Grant) bool {
	requester, err := o.Requester(ctx, of.Member, of.Namespace)
	return err != nil || policy.CheckVCenter(vcenter, grants, requester) == nil
}

// onRecord reports whether the hub has, or possibly has, a record of what was admitted to a group.
func (o *Observer) onRecord(of fleet.Ref, key vsphere.GroupKey) bool {
	member, engaged := o.Fleet.Member(of.Member)
	if !engaged {
		return true
	}
	record := o.Record(member, key)
	return record.Admitted != nil || record.Unread != ""
}
