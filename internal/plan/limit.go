package plan

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Creates returns the number of clones in the plan. Each needs a clone slot.
func (p Plan) Creates() int { return p.count(isClone) }

// Tasks returns the number of other vCenter tasks in the plan. Each needs a slot. A guest shutdown or the cancellation of a task starts no vCenter task and needs no slot.
func (p Plan) Tasks() int { return p.count(isTask) }

// Limit returns the plan with at most the given numbers of clones and of other tasks, in plan order. A VM whose clone is cut stays, as Pending. Its intent is recorded with the
// others in one write, and an intent without a clone does no harm (see docs/adr/0003-status-before-action.md). Doomed stays, since it records a decision and not an action.
// Settled stays false, because waiting for slots settles nothing. Limit does not change the receiver. Negative limits count as zero.
func (p Plan) Limit(clones, others int) Plan {
	cut := map[int32]bool{}
	actions := make([]Action, 0, len(p.Actions))
	for _, a := range p.Actions {
		switch {
		case isClone(a) && clones <= 0:
			cut[a.Ordinal] = true
			continue
		case isTask(a) && others <= 0:
			continue
		case isClone(a):
			clones--
		case isTask(a):
			others--
		}
		actions = append(actions, a)
	}
	vms := make([]VMStatus, 0, len(p.VMs))
	for _, s := range p.VMs {
		if cut[s.Ordinal] && s.Phase == v1alpha1.VMCloning {
			s.Phase = v1alpha1.VMPending
		}
		vms = append(vms, s)
	}
	p.Actions, p.VMs = actions, vms
	return p
}

// Without returns the plan without actions of the given kinds.
func (p Plan) Without(kinds ...ActionKind) Plan {
	p.Actions = slices.DeleteFunc(slices.Clone(p.Actions), func(a Action) bool { return slices.Contains(kinds, a.Kind) })
	return p
}

func (p Plan) count(costs func(Action) bool) int {
	n := 0
	for _, a := range p.Actions {
		if costs(a) {
			n++
		}
	}
	return n
}

func isClone(a Action) bool { return a.Kind == CreateVM }

func isTask(a Action) bool {
	return a.Kind != CreateVM && a.Kind != ShutdownGuest && a.Kind != CancelClone
}
