package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Input is everything that a decision depends on.
type Input struct {
	// Now is the time of the decision.
	Now time.Time
	// Name of the VmGroup; VMs are called <Name>-<ordinal>.
	Name string
	// GroupUID is the UID of the VmGroup, from which instance UUIDs are derived.
	GroupUID string
	// Spec of the VmGroup, as stored. Unset optional fields mean their documented defaults.
	Spec v1alpha1.VmGroupSpec
	// Revision of Spec: see Revision.
	Revision string
	// Deleting is true once the VmGroup has a deletion timestamp.
	Deleting bool
	// Paused stops every action, and says who paused; nil when nobody did.
	Paused *Blocker
	// CreateBlocked explains why nothing may be cloned (missing template, missing grant, ...), or is nil.
	// It does not stop deletions or repairs of power.
	CreateBlocked *Blocker
	// Observation of vCenter.
	Observation Observation
	// Known are the VMs recorded in status, Doomed the ordinals recorded in status.deleting.
	Known  []Known
	Doomed []int32
}

// Observation is what is known of the group's VMs.
type Observation struct {
	// Complete is false when VMs may be missing; Incomplete says why, as a sentence for a person.
	Complete   bool
	Incomplete string
	VMs        []VM
	// Gone and Elsewhere are moRefs of Known VMs that vCenter confirmed not to exist, or to exist outside of
	// the operator's root folder.
	Gone, Elsewhere []string
	InFlight        []Operation
	Failures        []Failure
}

// Power is the power state of a VM.
type Power string

// Power states, as status shows them.
const (
	PoweredOn    Power = "On"
	PoweredOff   Power = "Off"
	Suspended    Power = "Suspended"
	PowerUnknown Power = "Unknown"
)

// VM is one observed VM below the operator's root folder: it carries the group's stamp, or lies in the group's
// folder, or is one of Known. The last must be observed even when it is neither stamped nor in the folder any
// more: a released VM that somebody moved would otherwise be suspect for ever, and hold the group's deletion.
type VM struct {
	MoRef string
	Name  string
	UUID  string
	// InFolder is true when it lies directly in the group's folder.
	InFolder bool
	// Stamp is nil when it carries none or another group's.
	Stamp          *Stamp
	Tombstone      bool
	Power          Power
	Connected      bool
	HeartbeatGreen bool
	ToolsRunning   bool
	IP             string
	ChangeVersion  string
}

// Stamp is the part of the owner stamp that decisions need.
type Stamp struct {
	Ordinal     int32
	Incarnation int32
	Revision    string
	CloneMode   v1alpha1.CloneMode
	Created     time.Time
}

// Known is a VM recorded in status.
type Known struct {
	Ordinal     int32
	Incarnation int32
	// MoRef is empty while a clone was decided on and its VM has not been seen.
	MoRef      string
	UUID       string
	Revision   string
	ReadySince time.Time
	// Phase that status recorded last, or empty. ReadySince outlives an outage, so that a VM that was ready once
	// can be told from one that never started; Phase tells that there was an outage, after which the time of
	// minReadySeconds runs anew.
	Phase v1alpha1.VMPhase
}

// Operation is a vCenter operation that was submitted and whose effect is not visible yet.
type Operation struct {
	Kind    OperationKind
	Ordinal int32
	// MoRef is empty for a clone that has not finished; else it is the VM that this very clone made.
	MoRef string
	Since time.Time
	// OutcomeUnknown is true when nobody knows yet whether it reached vCenter.
	OutcomeUnknown bool
}

// Failure is the last failed operation of an ordinal.
type Failure struct {
	Kind    OperationKind
	Ordinal int32
	// Reason is a condition reason of the API; Message a sentence for a person.
	Reason, Message string
	// Terminal is true when trying again cannot help until somebody acts.
	Terminal bool
	// RetryAt is the earliest time to try again.
	RetryAt time.Time
	// Revision that a clone failed with. A failure of another revision does not hold a clone back.
	Revision string
}

// OperationKind names a vCenter operation.
type OperationKind string

// Operations.
const (
	OpClone         OperationKind = "Clone"
	OpPowerOn       OperationKind = "PowerOn"
	OpPowerOff      OperationKind = "PowerOff"
	OpShutdownGuest OperationKind = "ShutdownGuest"
	OpMark          OperationKind = "Mark"
	OpDestroy       OperationKind = "Destroy"
	OpRelease       OperationKind = "Release"
)
