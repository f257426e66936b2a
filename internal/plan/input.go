package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Input has all the data that a decision depends on.
type Input struct {
	// Now is the time of the decision.
	Now time.Time
	// Name of the VmGroup; VMs are called <Name>-<ordinal>.
	Name string
	// ID of the VmGroup. A stamp of another group is ignored. A stamp that another installation wrote for this group holds the group. Instance UUIDs are derived from the group's
	// UID.
	ID vsphere.GroupID
	// Predecessor is an installation whose VMs of this group now belong to this installation, or empty.
	Predecessor string
	// Folder of the VmGroup, or zero before it was created.
	Folder vsphere.Ref
	// Spec of the VmGroup, as stored. Unset optional fields have their documented defaults.
	Spec v1alpha1.VmGroupSpec
	// Revision of Spec: see Revision. Clones get it, unless Rollout has older VMs that a clone must not replace: see Shapes.
	Revision string
	// UpdateRevision is the target revision of VMs. It equals Revision unless the group is held at an older shape than it asks for.
	UpdateRevision string
	// Edited is true if the VmGroup was edited since the status that has Known: its generation is above observedGeneration.
	Edited bool
	// Rollout is the recorded update. It is nil if status has none: the group is new, status was lost, or an older version wrote it.
	Rollout *Rollout
	// UpdateBlocked explains why no VM is updated now (the spec is not allowed), or is nil. An update still begins, because an edit is visible only once.
	UpdateBlocked *Blocker
	// Surge is the number of VMs that quotas grant to an update.
	Surge SurgeRoom
	// Shapes are the known shapes, the newest last. See Believed.
	Shapes []Shape
	// MayStay is the number of VMs that can stay although Spec wants fewer. It is what a held group asks for: a hold only keeps a group from growing. It is 0 if the group is not
	// held.
	MayStay int32
	// Deleting is true once the VmGroup has a deletion timestamp.
	Deleting bool
	// Keep is true if the VMs must stay although the VmGroup is being deleted. VMs with a tombstone still leave.
	Keep bool
	// Paused stops every action and explains the pause. It is nil if the group is not paused.
	Paused *Blocker
	// TemplateCores are the cores per socket of the template. Zero means that they are unknown.
	TemplateCores int32
	// KeepsNetwork is true if neither spec nor the VCenter names a network, so that clones have that of the template. Which one that is, is unknown: existing VMs keep theirs.
	KeepsNetwork bool
	// CreateBlocked explains why no VM can be cloned (missing template, missing grant, ...), or is nil. It does not stop deletions or repairs of power.
	CreateBlocked *Blocker
	// Adoption describes the VMs to adopt from another group first, or is nil.
	Adoption *Adoption
	// Hold keeps VMs that would leave because the group is deleted or wants fewer. It is nil if they can leave.
	Hold *RemovalHold
	// Observation of vCenter. It has the VMs that carry the group's stamp or lie in its folder, and those of Known. Without the latter, a released VM that a person moved would
	// stay suspect forever and block the group's deletion.
	Observation vsphere.Observation
	// Desired is the wanted number of VMs in status. If Spec wants fewer, the group was just scaled down.
	Desired int32
	// Gate is the recorded readiness gate.
	Gate Gate
	// Known are the VMs recorded in status, Doomed the ordinals recorded in status.deleting.
	Known  []Known
	Doomed []int32
	// Listed are the recorded VMs that spec.scaleDown.deleteFirst names.
	Listed []Listed
	// Replaced are the recorded instance UUIDs of VMs that were lost and replaced.
	Replaced []string
}

// RemovalHold explains why VMs that would leave are kept for now.
type RemovalHold struct {
	Blocker
	// Until is the time of the next check.
	Until time.Time
}

// Lost is a VM whose reference no longer exists in vCenter. The zero value stands for no VM.
type Lost struct {
	MoRef, UUID string
}

// Known is a VM recorded in status.
type Known struct {
	Ordinal     int32
	Incarnation int32
	// MoRef is empty if a clone was planned and its VM has not been observed.
	MoRef      string
	UUID       string
	Revision   string
	ReadySince time.Time
	// RootDiskGiB and DataDisks are as in VMStatus.
	RootDiskGiB int32
	DataDisks   []v1alpha1.VMDisk
	// StartTime is when the VM was first observed on, while it has not passed its readiness gate since. Updating is true while the VM is or was stopped for an update. See
	// VMStatus.
	StartTime time.Time
	Updating  bool
	// StoppedAt and RefusedAt are as in VMStatus.
	StoppedAt, RefusedAt time.Time
	// Replaces is as in VMStatus.
	Replaces Lost
	// ShutdownTime is when the guest was asked to shut down, or zero.
	ShutdownTime time.Time
	// Phase that status recorded last, or empty. ReadySince survives an outage and so distinguishes a VM that was ready once from one that never started. Phase shows the outage,
	// after which minReadySeconds starts again.
	Phase v1alpha1.VMPhase
}
