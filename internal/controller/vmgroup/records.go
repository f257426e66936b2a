package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// unreadInterval is when to look again while the records have not been read.
const unreadInterval = 200 * time.Millisecond

// Records keep on the hub what was admitted to groups, and say how many bytes a write takes there. *admitted.Records implements it.
type Records interface {
	Of(key admitted.Key) (admitted.Entry, bool, error)
	OfMember(clusterUID string) (map[types.UID]admitted.Entry, error)
	Put(ctx context.Context, key admitted.Key, e admitted.Entry) (bytes int, err error)
	Drop(key admitted.Key) (bytes int)
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

// putRecord stores what was admitted, before anything is done for it. A group for whose record there is no room goes on
// without one: if its spec is refused later, it keeps what it has then.
func (p *pass) putRecord(ctx context.Context, s *group.Snapshot, record *v1alpha1.Admitted) (*group.RecordAnswer, error) {
	key, turn := s.ID.Key(), p.turn(s)
	pace := p.r.memory.of(p.object(s)).records
	wait := pace.wait(p.now)
	if wait <= 0 {
		wait = p.r.HubWrites.Ask(p.member.UID, turn, admitted.MostWritten)
	}
	if wait > 0 {
		pace.waits(p.now)
		p.r.memory.change(p.object(s), func(m *remembered) { m.records = pace })
		return &group.RecordAnswer{Wait: wait, Since: pace.since}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	wrote, err := p.r.Records.Put(ctx, recordKey(p.member, key), admitted.Entry{
		Namespace: s.Group.Namespace, Name: s.Group.Name, Admitted: *record, Epoch: s.Epoch,
	})
	p.r.HubWrites.Settle(p.member.UID, writebudget.Record, admitted.MostWritten, wrote)
	if errors.Is(err, admitted.ErrFull) {
		log.FromContext(ctx).Error(err, "What was admitted to a group is not on record; if policy refuses its spec later, no VM that it loses comes back")
		return &group.RecordAnswer{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record what was admitted: %w", err)
	}
	pace.wrote(p.now)
	p.r.memory.change(p.object(s), func(m *remembered) { m.records = pace })
	return &group.RecordAnswer{}, nil
}

// turn is by what the group takes its turn among those that wait for a write on the hub.
func (p *pass) turn(s *group.Snapshot) writebudget.Turn {
	return writebudget.Turn{Namespace: s.Group.Namespace, ID: string(s.Group.UID)}
}
