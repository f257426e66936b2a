package effect

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// Records store the admitted specs of groups on the hub, and return the bytes of a write. *admitted.Records implements it.
type Records interface {
	Put(ctx context.Context, key admitted.Key, e admitted.Entry) (bytes int, err error)
	Drop(key admitted.Key) (bytes int)
}

// putRecord stores the admitted spec before any action for it. If there is no room for the record, the group continues
// without: if policy refuses its spec later, it keeps its spec of that time.
type putRecord struct {
	records   Records
	hubWrites *writebudget.Budget
}

// Do implements Effect.
func (r putRecord) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (_ Outcome, err error) {
	s.Recorded, err = r.put(ctx, p, s, d.Record)
	return Outcome{}, err
}

func (r putRecord) put(ctx context.Context, p *Pass, s *group.Snapshot, record *v1alpha1.Admitted) (*group.RecordAnswer, error) {
	pace := p.Memory.RecordPace()
	wait := pace.wait(p.Now)
	if wait <= 0 {
		wait = r.hubWrites.Ask(p.Member.UID, turn(s), admitted.MostWritten)
	}
	if wait > 0 {
		pace.waits(p.Now)
		p.Memory.SetRecordPace(pace)
		return &group.RecordAnswer{Wait: wait, Since: pace.since}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	wrote, err := r.records.Put(ctx, admitted.KeyOf(s.ID.Key()), admitted.Entry{
		Namespace: s.Group.Namespace, Name: s.Group.Name, Admitted: *record, Epoch: s.Epoch,
	})
	r.hubWrites.Settle(p.Member.UID, writebudget.Record, admitted.MostWritten, wrote)
	if errors.Is(err, admitted.ErrFull) {
		log.FromContext(ctx).Error(err, "What was admitted to a group is not on record; if policy refuses its spec later, no VM that it loses comes back")
		return &group.RecordAnswer{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record what was admitted: %w", err)
	}
	pace.wrote(p.Now)
	p.Memory.SetRecordPace(pace)
	return &group.RecordAnswer{}, nil
}
