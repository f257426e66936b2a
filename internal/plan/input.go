package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Input is everything that a decision depends on.
type Input struct {
	// Now is the time of the decision.
	Now time.Time
	// Name of the VmGroup; VMs are called <Name>-<ordinal>.
	Name string
	// ID of the VmGroup. A stamp of another group is none; one that another installation wrote for this group holds it. Instance UUIDs are derived from the group's UID.
	ID vsphere.GroupID
	// Predecessor is an installation whose VMs of this group are this one's now, or empty.
	Predecessor string
	// Folder of the VmGroup, or zero before it was created.
	Folder vsphere.Ref
	// Spec of the VmGroup, as stored. Unset optional fields mean their documented defaults.
	Spec v1alpha1.VmGroupSpec
	// Revision of Spec: see Revision. A VM that is cloned gets it, unless Rollout has older VMs that it must not take the place of: see Shapes.
	Revision string
	// UpdateRevision is the revision that VMs are to have. It is Revision unless the group is held at an older shape than it asks for.
	UpdateRevision string
	// Edited is true when the VmGroup was edited since the status that Known is of: its generation is above observedGeneration.
	Edited bool
	// Rollout that status records, or nil when it records none: the group is new, or its status was lost or written by an older version.
	Rollout *Rollout
	// UpdateBlocked says why no VM is updated now (the group is not allowed as written), or is nil. An update begins all the same: an edit is
	// seen once only.
	UpdateBlocked *Blocker
	// Surge is how many VMs quotas grant to an update.
	Surge SurgeRoom
	// Shapes are those that status records, the newest last. See Believed.
	Shapes []Shape
	// MayStay is how many VMs may stay although Spec wants fewer: what a group asks for that is held at less. A hold only keeps
	// a group from growing. 0 when it is not held.
	MayStay int32
	// Deleting is true once the VmGroup has a deletion timestamp.
	Deleting bool
	// Keep is true when the VMs shall stay though the VmGroup is being deleted. Those that have a tombstone leave all the same.
	Keep bool
	// Paused stops every action, and says who paused; nil when nobody did.
	Paused *Blocker
	// CreateBlocked explains why nothing may be cloned (missing template, missing grant, ...), or is nil.
	// It does not stop deletions or repairs of power.
	CreateBlocked *Blocker
	// Adoption is what is taken over of another group first; nil for nothing.
	Adoption *Adoption
	// Hold keeps VMs that are to leave because the group is deleted or wants fewer; nil when they may go.
	Hold *RemovalHold
	// Observation of vCenter. It has the VMs that carry the group's stamp or lie in its folder, and those of Known: a
	// released VM that somebody moved would otherwise be suspect for ever, and hold the group's deletion.
	Observation vsphere.Observation
	// Desired is how many VMs status says are wanted: if Spec wants fewer, it was just scaled down.
	Desired int32
	// Gate is what status records of the gate by which VMs were judged.
	Gate Gate
	// Known are the VMs recorded in status, Doomed the ordinals recorded in status.deleting.
	Known  []Known
	Doomed []int32
	// Listed are the VMs that status records of those in spec.scaleDown.deleteFirst.
	Listed []Listed
	// Replaced are the instance UUIDs that status records of VMs that were lost, and that the group did without.
	Replaced []string
}

// RemovalHold says why VMs that are to leave are kept for now.
type RemovalHold struct {
	Blocker
	// Until is when to look again.
	Until time.Time
}

// Lost is a VM whose reference does not exist in vCenter any more. The zero value stands for no VM.
type Lost struct {
	MoRef, UUID string
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
	// StartTime is when it was found to be on, while it has not passed its readiness gate since; Updating says that it is stopped, or was,
	// for an update. See VMStatus.
	StartTime time.Time
	Updating  bool
	// StoppedAt and RefusedAt are as in VMStatus.
	StoppedAt, RefusedAt time.Time
	// Replaces is as in VMStatus.
	Replaces Lost
	// ShutdownTime is when its guest was asked to shut down, or zero.
	ShutdownTime time.Time
	// Phase that status recorded last, or empty. ReadySince outlives an outage, so that a VM that was ready once
	// can be told from one that never started; Phase tells that there was an outage, after which the time of
	// minReadySeconds runs anew.
	Phase v1alpha1.VMPhase
}
