package plan

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// Cause is the purpose of an action, as metrics name it.
type Cause string

// Causes of actions.
const (
	// ForCreate is a missing VM. ForScale is a VM that leaves because the group wants fewer.
	ForCreate Cause = "create"
	ForScale  Cause = "scale"
	// ForRepair corrects a change from outside.
	ForRepair Cause = "repair"
	ForUpdate Cause = "update"
	// ForDelete is the deletion of the group.
	ForDelete Cause = "delete"
	// ForAdopt adopts a VM from another group or another installation.
	ForAdopt Cause = "adopt"
	// ForPower applies spec.powerState.
	ForPower Cause = "power"
)

// Causes lists all causes.
var Causes = []Cause{ForCreate, ForScale, ForRepair, ForUpdate, ForDelete, ForAdopt, ForPower}

// ActionKinds lists all kinds of actions.
var ActionKinds = []ActionKind{
	CreateVM, PowerOnVM, ShutdownGuest, PowerOffVM, MarkVM, DestroyVM, ReleaseVM, RestampVM, CancelClone, ClaimVM, MoveVM, RenameVM, AdoptVM, ReconfigureVM,
}

// causeOf returns the purpose of an action.
func (p *planner) causeOf(m *member, a Action) Cause {
	switch a.Kind {
	case ClaimVM, MoveVM, RenameVM, AdoptVM, RestampVM:
		return ForAdopt
	case ReconfigureVM:
		return ForUpdate
	case CreateVM:
		return p.causeOfNew(m)
	case PowerOnVM:
		switch {
		case m.wrongPower:
			return ForRepair
		case m.status.Updating:
			return ForUpdate
		case m.known != nil && m.known.Phase == v1alpha1.VMStopped || p.wasAsked(m):
			return ForPower
		}
		return p.causeOfNew(m)
	}
	switch {
	case m.doomed && m.leaves == RemovedByDeletion:
		return ForDelete
	case m.doomed && m.leaves == RemovedByReplacement:
		return ForUpdate
	case m.doomed:
		return ForScale
	case m.changes || m.status.Updating:
		return ForUpdate
	}
	return ForPower
}

// causeOfNew returns the purpose of a VM that was not ready yet.
func (p *planner) causeOfNew(m *member) Cause {
	switch {
	case m.status.Incarnation > 0:
		return ForRepair
	case p.roll.active() && m.status.Revision == p.roll.Revision:
		return ForUpdate
	}
	return ForCreate
}
