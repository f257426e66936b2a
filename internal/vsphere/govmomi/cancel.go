package govmomi

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var errNoClone = errors.New("no clone is known to run")

// CancelClone asks vCenter to cancel a clone: see vsphere.Server. An account needs no privilege to cancel its own task.
func (s *Server) CancelClone(ctx context.Context, group vsphere.GroupKey, ordinal int32) error {
	r, task, ok := s.ops.RunningClone(operations.Key{Group: group, Ordinal: ordinal})
	if !ok {
		return &vsphere.Error{Kind: vsphere.KindNotFound, Op: "cancel a clone", Err: errNoClone}
	}
	op := "cancel the clone of " + r.Name
	c, err := s.live(op)
	if err != nil {
		return err
	}
	_, err = methods.CancelTask(ctx, c.client, &types.CancelTask{This: types.ManagedObjectReference{Type: typeTask, Value: task}})
	kick(s.taskKick)
	if has[*types.InvalidState](err) || notFound(err, vsphere.Ref{Type: typeTask, Value: task}) {
		err = nil // the task has ended or was canceled before
	}
	err = translate(op, err)
	if vsphere.KindOf(err) != vsphere.KindFenced {
		s.ops.Canceled(task, err)
	}
	return err
}
