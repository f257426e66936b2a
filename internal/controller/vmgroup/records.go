package vmgroup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// unreadInterval is when to look again while the records have not been read.
const unreadInterval = 200 * time.Millisecond

// Records keep on the hub what was admitted to groups. *admitted.Records implements it.
type Records interface {
	effect.Records
	Of(key admitted.Key) (admitted.Entry, bool, error)
	OfMember(clusterUID string) (map[types.UID]admitted.Entry, error)
}

// recordKey is what the records call a group.
func recordKey(member fleet.Member, key vsphere.GroupKey) admitted.Key {
	return admitted.Key{Member: member.UID, Group: types.UID(key.Group())}
}

// record is what the hub has on record of a group.
func (r *Reconciler) record(member fleet.Member, key vsphere.GroupKey) group.Record {
	e, found, err := r.Records.Of(recordKey(member, key))
	switch {
	case err != nil:
		return group.Record{Unread: err.Error()}
	case found:
		return group.Record{Admitted: &e.Admitted}
	}
	accepted, _ := allowance.Counts(member.AcceptAdmitted, r.Now())
	return group.Record{Accepted: accepted}
}

// RecordChanged takes the news that somebody else changed what the hub has on record of a group.
func (r *Reconciler) RecordChanged(key admitted.Key) {
	r.Fleet.GroupChanged(vsphere.KeyOf(key.Member, string(key.Group)))
}

// Exists says whether a group exists. It is for the records.
func (r *Reconciler) Exists(ctx context.Context, key admitted.Key) admitted.Existence {
	if r.Fleet.Serves(key.Member) {
		if _, known := r.Fleet.Group(vsphere.KeyOf(key.Member, string(key.Group))); known {
			return admitted.Exists
		}
		return admitted.Absent
	}
	var list v1alpha1.MemberClusterList
	if err := r.Hub.List(ctx, &list); err != nil {
		return admitted.Unknown
	}
	for i := range list.Items {
		if m := &list.Items[i]; m.Spec.ClusterUID == key.Member || m.Status.ClusterUID == key.Member {
			return admitted.Unknown
		}
	}
	return admitted.Departed
}
