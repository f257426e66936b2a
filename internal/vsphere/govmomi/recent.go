package govmomi

import (
	"context"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// untracked reads vCenter's recent tasks. It returns the queued and running ones that can be ours and that belong to no known operation of
// this process.
func (s *Server) untracked(ctx context.Context, c *connection) ([]operations.Untracked, error) {
	tasks, err := recentTasks(ctx, c)
	if err != nil {
		return nil, err
	}
	var out []operations.Untracked
	var refs []string
	for _, t := range tasks {
		state := types.TaskInfoState(t.text(taskState))
		if state != types.TaskInfoStateQueued && state != types.TaskInfoStateRunning || s.ops.Tracks(t.ref.Value) {
			continue
		}
		reason := t.values["info.reason"]
		queued, _ := t.values[taskQueued].(time.Time)
		task := operations.Untracked{
			Ref: t.ref.Value, Entity: t.refOf("info.entity"), Clone: isClone(t.text("info.descriptionId")), Own: isOurs(reason, c.session.User()),
			Queued: queued,
		}
		if s.matters(task, reason, c.session.User()) || placedForUs(task, reason, t.text("info.descriptionId")) {
			out, refs = append(out, task), append(refs, task.Ref)
		}
	}
	first := s.cfg.Sightings.See(c.client.ServiceContent.About.InstanceUuid, refs, s.cfg.Now())
	for i := range out {
		out[i].Since = first[out[i].Ref]
	}
	return out, nil
}

// matters reports whether a task without a known operation can have been started for us. Any account can have started a clone,
// because an earlier replica can have logged in with another one. But its template is in the catalog, and a logged-in account started it.
func (s *Server) matters(task operations.Untracked, reason any, user string) bool {
	if !task.Clone {
		return maybeOurs(reason, user)
	}
	return s.cat.mayHold(task.Entity) && loggedIn(reason)
}

// placedForUs reports whether DRS can be powering a VM on for us: DRS can do that in its own name for any requester.
func placedForUs(task operations.Untracked, reason any, descriptionID string) bool {
	switch reason.(type) {
	case types.TaskReasonSystem, *types.TaskReasonSystem:
		return task.Entity.Type == vsphere.TypeVirtualMachine && strings.Contains(strings.ToLower(descriptionID), "poweron")
	}
	return false
}

// recentTasks reads vCenter's tasks of the last minutes: state, entity, reason, kind, and queue time.
func recentTasks(ctx context.Context, c *connection) ([]object, error) {
	o, err := exact(ctx, c.client, fromRef(*c.client.ServiceContent.TaskManager), "recentTask")
	if err != nil {
		return nil, err
	}
	if denied := o.denied["recentTask"]; denied != nil {
		// A task that vCenter does not show can exist.
		return nil, onRoot("read vCenter's recent tasks", c.client, denied)
	}
	return existing(ctx, c.client, o.refsOf("recentTask"), types.PropertySpec{
		Type: typeTask, PathSet: []string{taskState, "info.entity", "info.reason", "info.descriptionId", taskQueued},
	})
}

// isClone recognizes VirtualMachine.clone and, in simulators, VirtualMachine.cloneVm.
func isClone(descriptionID string) bool {
	_, method, _ := strings.Cut(descriptionID, ".")
	return strings.HasPrefix(strings.ToLower(method), "clone")
}

// loggedIn reports whether an account can have started a task, as opposed to an alarm, a schedule or the system.
func loggedIn(reason any) bool {
	switch reason.(type) {
	case types.TaskReasonUser, *types.TaskReasonUser, nil:
		return true
	}
	return false
}

// maybeOurs reports whether our account can have started a task. A name without a domain is not enough to exclude it.
func maybeOurs(reason any, user string) bool {
	var name string
	switch r := reason.(type) {
	case types.TaskReasonUser:
		name = r.UserName
	case *types.TaskReasonUser:
		name = r.UserName
	default:
		return loggedIn(reason)
	}
	return strings.EqualFold(name, user) || !strings.ContainsAny(name, `\@`)
}

// objectOf returns the object named in a fault.
func objectOf(err error) vsphere.Ref {
	var e *vsphere.Error
	if asError(err, &e) {
		return e.Object
	}
	return vsphere.Ref{}
}
