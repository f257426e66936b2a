package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// unreadInterval is when to look again while the records have not been read.
const unreadInterval = 200 * time.Millisecond

// Records keep on the hub what was admitted to groups, and say how many bytes a write takes there. *admitted.Records implements it.
type Records interface {
	Put(ctx context.Context, key admitted.Key, e admitted.Entry) (bytes int, err error)
	Drop(key admitted.Key) (bytes int)
}

// putRecord stores what was admitted, before anything is done for it. A group for whose record there is no room goes on
// without one: if its spec is refused later, it keeps what it has then.
func (p *pass) putRecord(ctx context.Context, s *group.Snapshot, record *v1alpha1.Admitted) (*group.RecordAnswer, error) {
	key, turn := s.ID.Key(), p.turn(s)
	pace := p.r.memory.of(p.object(s)).records
	wait := pace.wait(p.Now)
	if wait <= 0 {
		wait = p.r.HubWrites.Ask(p.Member.UID, turn, admitted.MostWritten)
	}
	if wait > 0 {
		pace.waits(p.Now)
		p.r.memory.change(p.object(s), func(m *remembered) { m.records = pace })
		return &group.RecordAnswer{Wait: wait, Since: pace.since}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	wrote, err := p.r.Records.Put(ctx, observe.RecordKey(p.Member, key), admitted.Entry{
		Namespace: s.Group.Namespace, Name: s.Group.Name, Admitted: *record, Epoch: s.Epoch,
	})
	p.r.HubWrites.Settle(p.Member.UID, writebudget.Record, admitted.MostWritten, wrote)
	if errors.Is(err, admitted.ErrFull) {
		log.FromContext(ctx).Info("What was admitted to a group is not on record; if policy refuses its spec later, no VM that it loses comes back", "reason", err.Error())
		return &group.RecordAnswer{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record what was admitted: %w", err)
	}
	pace.wrote(p.Now)
	p.r.memory.change(p.object(s), func(m *remembered) { m.records = pace })
	return &group.RecordAnswer{}, nil
}

// turn is by what the group takes its turn among those that wait for a write on the hub.
func (p *pass) turn(s *group.Snapshot) writebudget.Turn {
	return writebudget.Turn{Namespace: s.Group.Namespace, ID: string(s.Group.UID)}
}
