package observe

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Record returns the hub's record of a group.
func (o *Observer) Record(member fleet.Member, key vsphere.GroupKey) group.Record {
	e, found, err := o.Admitted.Of(admitted.KeyOf(key))
	switch {
	case err != nil:
		return group.Record{Unread: err.Error()}
	case found:
		return group.Record{Admitted: &e.Admitted}
	}
	accepted, _ := allowance.Counts(member.AcceptAdmitted, o.Now())
	return group.Record{Accepted: accepted}
}

// RecordChanged implements admitted.Groups.
func (o *Sources) RecordChanged(key admitted.Key) {
	o.Fleet.GroupChanged(vsphere.KeyOf(key.Member, string(key.Group)))
}

// Exists implements admitted.Groups.
func (o *Sources) Exists(ctx context.Context, key admitted.Key) admitted.Existence {
	if o.Fleet.Serves(key.Member) {
		if _, known := o.Fleet.Group(vsphere.KeyOf(key.Member, string(key.Group))); known {
			return admitted.Exists
		}
		return admitted.Absent
	}
	var list v1alpha1.MemberClusterList
	if err := o.Hub.List(ctx, &list); err != nil {
		return admitted.Unknown
	}
	for i := range list.Items {
		if m := &list.Items[i]; m.Spec.ClusterUID == key.Member || m.Status.ClusterUID == key.Member {
			return admitted.Unknown
		}
	}
	return admitted.Departed
}
