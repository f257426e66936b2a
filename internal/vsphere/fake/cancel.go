package fake

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// OpCancel is the journal's kind for a canceled clone. It also scripts a refusal: see FailSubmit.
const OpCancel vsphere.OperationKind = "Cancel"

// CancelClone ends a clone as a failure: see vsphere.Server.
func (s *Server) CancelClone(ctx context.Context, group vsphere.GroupKey, ordinal int32) error {
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.unlock()
	const op = "cancel a clone"
	if err := s.available(ctx, op); err != nil {
		return err
	}
	t := s.inFlight(group, ordinal)
	if t == nil || t.Kind != vsphere.OpClone || t.Task == "" {
		return fail(vsphere.KindNotFound, op, "no clone is known to run")
	}
	entry := Entry{Kind: OpCancel, Group: group, Ordinal: ordinal, Name: t.Name}
	t.CanceledAt, t.CancelErr = s.opt.Now(), nil
	if err, ok := pop(s.failSubmit, OpCancel); ok {
		t.CancelErr = scripted(err, op)
		entry.Err = t.CancelErr
	} else {
		t.fail = fail(vsphere.KindTransient, t.op, "the task was canceled by a user")
		s.finish(t)
	}
	s.journal = append(s.journal, entry)
	return entry.Err
}
