package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// blocked is true while the ordinal cannot get this action. A removal step does not wait for a hanging task: vCenter refuses the step with a reason if the two conflict.
func (o operations) blocked(ordinal int32, kind ActionKind) bool {
	return slices.ContainsFunc(o.inFlight[ordinal], func(op vsphere.Operation) bool {
		return !o.overdue(op) && (!operationOf[kind].Ends() || !op.Overtaken(o.now))
	})
}

// cancelClone asks vCenter to cancel a long-running clone of a VM that leaves. The planner waits for a younger clone: most clones end before that. The request is repeated
// periodically: vCenter can have been unreachable, or the account can have got the privilege since.
func (p *planner) cancelClone(m *member) {
	for _, op := range p.ops.inFlight[m.status.Ordinal] {
		if op.Kind != vsphere.OpClone || !op.Hangs(p.in.Now) {
			continue // explainHanging schedules the next check
		}
		if again := op.CanceledAt.Add(vsphere.HangsAfter); !op.CanceledAt.IsZero() && p.in.Now.Before(again) {
			p.wake(again)
			continue
		}
		a := Action{Kind: CancelClone, Ordinal: m.status.Ordinal, Name: m.status.Name, Reason: "the VM leaves, and its clone has not ended"}
		a.Cause = p.causeOf(m, a)
		p.actions = append(p.actions, a)
	}
}

// canceled describes the result of a task's cancellation, or is "".
func canceled(op vsphere.Operation) string {
	switch {
	case op.CanceledAt.IsZero():
		return ""
	case op.CancelErr != nil:
		return "; vCenter did not cancel it: " + op.CancelErr.Error()
	}
	return "; vCenter was asked to cancel it at " + op.CanceledAt.UTC().Format(time.RFC3339)
}

// explainHanging reports long-running tasks with their start time and the remedy. Times are absolute, so that the message does not change.
func (p *planner) explainHanging() {
	for _, m := range p.table() {
		p.explainHalfMade(m)
		if m.vm != nil && m.vm.Question != "" {
			m.hangs(fmt.Sprintf("it waits for an answer to %s: answer it in the vSphere Client", untrusted.Quoted(m.vm.Question)))
		}
		for _, op := range p.ops.inFlight[m.status.Ordinal] {
			what := hanging[op.Kind]
			if what == "" || op.Task == "" {
				continue
			}
			if !op.Hangs(p.in.Now) {
				p.wake(op.Since.Add(vsphere.HangsAfter))
				continue
			}
			m.hangs(fmt.Sprintf(what, fmt.Sprintf("runs in vCenter since %s (%s)", op.Since.UTC().Format(time.RFC3339), op.Task)) + canceled(op))
		}
	}
}

// hangs adds a reason to the message of the VM.
func (m *member) hangs(why string) {
	m.status.Message = joined(m.status.Message, why)
	m.status.Hangs = joined(m.status.Hangs, why)
}

// joined returns both texts, or the only one.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

const lookAtTask = ": ask a hub administrator to check the task, and to cancel it if it hangs"

// hanging has the message for each long-running kind of task.
var hanging = map[vsphere.OperationKind]string{
	vsphere.OpPowerOn: "its power-on %s: open the VM in the vSphere Client, which can wait for an answer to a question, " +
		"or ask a hub administrator to cancel the task",
	vsphere.OpPowerOff:    "its power-off %s: ask a hub administrator to check the VM's host, and to cancel the task if it hangs",
	vsphere.OpReconfigure: "its change %s" + lookAtTask,
	vsphere.OpIdentify:    "the record of its data disks %s" + lookAtTask,
	vsphere.OpMark:        "the change before its removal %s" + lookAtTask,
	vsphere.OpRelease:     "the change by which it leaves the group %s" + lookAtTask,
	vsphere.OpRestamp:     "the change of its stamp %s" + lookAtTask,
	vsphere.OpClaim:       "the first step of its adoption %s" + lookAtTask,
	vsphere.OpMove:        "its move into the group's folder %s" + lookAtTask,
	vsphere.OpRename:      "its renaming %s" + lookAtTask,
	vsphere.OpAdopt:       "the last step of its adoption %s" + lookAtTask,
	vsphere.OpDestroy:     "its destruction %s: ask a hub administrator to check the VM's datastore, and to cancel the task if it hangs",
	vsphere.OpClone:       "its clone %s" + lookAtTask,
}
