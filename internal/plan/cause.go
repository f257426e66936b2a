package plan

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// Cause is what an action is for, as metrics name it.
type Cause string

// Causes of actions.
const (
	// ForCreate is a VM that the group wants and does not have, ForScale one that leaves because the group wants fewer.
	ForCreate Cause = "create"
	ForScale  Cause = "scale"
	// ForRepair makes up for a change from outside.
	ForRepair Cause = "repair"
	ForUpdate Cause = "update"
	// ForDelete is a group that is deleted.
	ForDelete Cause = "delete"
	// ForAdopt takes a VM over, from another group or another installation.
	ForAdopt Cause = "adopt"
	// ForPower is what spec.powerState asks for.
	ForPower Cause = "power"
)

// Causes are all of them.
var Causes = []Cause{ForCreate, ForScale, ForRepair, ForUpdate, ForDelete, ForAdopt, ForPower}

// ActionKinds are all kinds of actions.
var ActionKinds = []ActionKind{
	CreateVM, PowerOnVM, ShutdownGuest, PowerOffVM, MarkVM, DestroyVM, ReleaseVM, RestampVM, CancelClone, ClaimVM, MoveVM, RenameVM, AdoptVM, ReconfigureVM,
}

// causeOf returns what an action is for.
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

// causeOfNew is what a VM is made for that was not ready yet.
func (p *planner) causeOfNew(m *member) Cause {
	switch {
	case m.status.Incarnation > 0:
		return ForRepair
	case p.roll.active() && m.status.Revision == p.roll.Revision:
		return ForUpdate
	}
	return ForCreate
}
