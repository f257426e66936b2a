package govmomi

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// untracked reads vCenter's recent tasks and returns those that are queued or running, may be ours, and that no
// operation of this process is known to have. Every clone may be: a predecessor may have logged in with another
// account, and waiting for a clone of somebody else does no harm.
func (s *Server) untracked(ctx context.Context, c *connection) ([]operations.Untracked, error) {
	tasks, err := recentTasks(ctx, c)
	if err != nil {
		return nil, err
	}
	var out []operations.Untracked
	for _, t := range tasks {
		state := types.TaskInfoState(t.text(taskState))
		if state != types.TaskInfoStateQueued && state != types.TaskInfoStateRunning {
			continue
		}
		clone := isClone(t.text("info.descriptionId"))
		if s.ops.Tracks(t.ref.Value) || !matters(clone, t.values["info.reason"], c.session.User()) {
			continue
		}
		out = append(out, operations.Untracked{Ref: t.ref.Value, Entity: t.refOf("info.entity"), Clone: clone})
	}
	return out, nil
}

// recentTasks reads what vCenter remembers of the tasks of the last minutes: state, entity, reason and kind.
func recentTasks(ctx context.Context, c *connection) ([]object, error) {
	o, err := exact(ctx, c.client, fromRef(*c.client.ServiceContent.TaskManager), "recentTask")
	if err != nil {
		return nil, err
	}
	return existing(ctx, c.client, o.refsOf("recentTask"), types.PropertySpec{
		Type: "Task", PathSet: []string{taskState, "info.entity", "info.reason", "info.descriptionId"},
	})
}

// isClone recognizes VirtualMachine.clone and, in simulators, VirtualMachine.cloneVm.
func isClone(descriptionID string) bool {
	_, method, _ := strings.Cut(descriptionID, ".")
	return strings.HasPrefix(strings.ToLower(method), "clone")
}

// matters reports whether a task of which no operation is known may have been started for us.
func matters(clone bool, reason any, user string) bool { return clone || maybeOurs(reason, user) }

// maybeOurs reports whether a task may have been started by our account. A name without a domain says too little
// to exclude it.
func maybeOurs(reason any, user string) bool {
	var name string
	switch r := reason.(type) {
	case types.TaskReasonUser:
		name = r.UserName
	case *types.TaskReasonUser:
		name = r.UserName
	case nil:
		return true
	default:
		// Started by an alarm, a schedule or the system.
		return false
	}
	return strings.EqualFold(name, user) || !strings.ContainsAny(name, `\@`)
}

// objectOf returns the object that a fault named.
func objectOf(err error) vsphere.Ref {
	var e *vsphere.Error
	if asError(err, &e) {
		return e.Object
	}
	return vsphere.Ref{}
}
