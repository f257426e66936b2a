package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// blocked is true while the ordinal may not get this action. A step towards the end of a VM does not wait for a task that hangs: vCenter refuses what it does
// not want, and says why.
func (o operations) blocked(ordinal int32, kind ActionKind) bool {
	return slices.ContainsFunc(o.inFlight[ordinal], func(op vsphere.Operation) bool {
		return !o.overdue(op) && (!operationOf[kind].Ends() || !op.Overtaken(o.now))
	})
}

// cancelClone has vCenter cancel the clone of a VM that leaves once it has run for long. A younger one is waited for: most end sooner than that. vCenter is asked
// again from time to time: it may have been away, or the account may have got the privilege meanwhile.
func (p *planner) cancelClone(m *member) {
	for _, op := range p.ops.inFlight[m.status.Ordinal] {
		if op.Kind != vsphere.OpClone || !op.Hangs(p.in.Now) {
			continue // explainHanging has it looked at again
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

// canceled is what became of the cancellation of a task, or "".
func canceled(op vsphere.Operation) string {
	switch {
	case op.CanceledAt.IsZero():
		return ""
	case op.CancelErr != nil:
		return "; vCenter did not cancel it: " + op.CancelErr.Error()
	}
	return "; vCenter was asked to cancel it at " + op.CanceledAt.UTC().Format(time.RFC3339)
}

// explainHanging names the tasks that run for long, since when, and what to look at. Times are of the clock, so that the message stays the same.
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

// hangs adds to what is said of the VM.
func (m *member) hangs(why string) {
	m.status.Message = joined(m.status.Message, why)
	m.status.Hangs = joined(m.status.Hangs, why)
}

// joined is both, or the one that there is.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

const lookAtTask = ": ask the platform team to look at the task, and to cancel it if it hangs"

// hanging is what to say of a task that runs for long.
var hanging = map[vsphere.OperationKind]string{
	vsphere.OpPowerOn: "its power-on %s: look at the VM in the vSphere Client, which may wait for an answer to a question, " +
		"or ask the platform team to cancel the task",
	vsphere.OpPowerOff:    "its power-off %s: ask the platform team to look at the VM's host, and to cancel the task if it hangs",
	vsphere.OpReconfigure: "its change %s" + lookAtTask,
	vsphere.OpMark:        "the change before its removal %s" + lookAtTask,
	vsphere.OpRelease:     "the change by which it leaves the group %s" + lookAtTask,
	vsphere.OpRestamp:     "the change of its stamp %s" + lookAtTask,
	vsphere.OpClaim:       "the first step of its adoption %s" + lookAtTask,
	vsphere.OpMove:        "its move into the group's folder %s" + lookAtTask,
	vsphere.OpRename:      "its renaming %s" + lookAtTask,
	vsphere.OpAdopt:       "the last step of its adoption %s" + lookAtTask,
	vsphere.OpDestroy:     "its destruction %s: ask the platform team to look at the VM's datastore, and to cancel the task if it hangs",
	vsphere.OpClone:       "its clone %s" + lookAtTask,
}
