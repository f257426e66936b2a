package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ActionKind is the closed set of actions in a plan.
type ActionKind string

// Actions, in the order in which a VM gets them.
const (
	CreateVM      ActionKind = "CreateVM"
	PowerOnVM     ActionKind = "PowerOnVM"
	ShutdownGuest ActionKind = "ShutdownGuest"
	PowerOffVM    ActionKind = "PowerOffVM"
	MarkVM        ActionKind = "MarkVM"
	DestroyVM     ActionKind = "DestroyVM"
	ReleaseVM     ActionKind = "ReleaseVM"
	RestampVM     ActionKind = "RestampVM"
	// CancelClone asks vCenter to cancel the clone of a VM that leaves.
	CancelClone ActionKind = "CancelClone"
	ClaimVM     ActionKind = "ClaimVM"
	MoveVM      ActionKind = "MoveVM"
	RenameVM    ActionKind = "RenameVM"
	AdoptVM     ActionKind = "AdoptVM"
	// ReconfigureVM changes the size or network of a VM, and the revision in its stamp, in one call.
	ReconfigureVM ActionKind = "ReconfigureVM"
)

// Action is one step. The caller submits a step and never waits for it; the next Compute observes its effect.
type Action struct {
	Kind    ActionKind
	Ordinal int32
	// Name of the VM.
	Name string
	// UUID and Incarnation are set for CreateVM. For adoption steps, UUID is the one that the VM has.
	UUID        string
	Incarnation int32
	// MoRef and ChangeVersion are set for every other kind.
	MoRef         string
	ChangeVersion string
	// Within is set for ShutdownGuest: the time that the guest has.
	Within time.Duration
	// Reason is a phrase that completes "because": "the group wants 3 VMs and has 2".
	Reason string
	// Cause is the purpose of the action.
	Cause Cause
	// Removal is set for DestroyVM.
	Removal RemovalCause
	// Quiet is true for a step that is retried every few minutes until a person acts. A retry without a new result is not reported.
	Quiet bool
	// Origin is set for ClaimVM, MoveVM, RenameVM and AdoptVM. It proves that the group can adopt the VM.
	Origin vsphere.Origin
	// Revision goes into the stamp of the VM. It is set for these kinds, for ReconfigureVM, and for CreateVM, which clones the shape of that revision. That revision can be older
	// than the one of spec: see Input.Shapes.
	Revision string
	// CPU, CoresPerSocket, MemoryMiB, RootDiskGiB and Network are set for ReconfigureVM if they change: zero and nil keep the VM's value. Network is as in spec.placement; an empty one is the
	// vCenter's default.
	CPU, CoresPerSocket int32
	MemoryMiB           int64
	RootDiskGiB         int32
	Network             *string
	// DataDisks are those that ReconfigureVM adds or grows. The VM keeps its others.
	DataDisks []vsphere.DataDisk
	// Identify is set for ReconfigureVM to record the UUIDs of data disks, and to change nothing else.
	Identify bool
}

// RemovalCause is why a VM is destroyed, as the audit line and vmgroup_vms_destroyed_total name it.
type RemovalCause string

// Causes of a removal.
const (
	RemovedByDeletion  RemovalCause = "deletion"
	RemovedByScaleDown RemovalCause = "scale-down"
	// RemovedByReplacement is a VM of an older revision that another VM replaces or replaced.
	RemovedByReplacement RemovalCause = "replacement"
)

// RemovalCauses lists all causes of a removal.
var RemovalCauses = []RemovalCause{RemovedByDeletion, RemovedByScaleDown, RemovedByReplacement}

// Blocker explains why an action is not taken, and the remedy.
type Blocker struct {
	// Reason is a condition reason of the API.
	Reason string
	// Message is a sentence. Brief is a short form that begins with the object; it is empty if Message begins so.
	Message, Brief string
	// Terminal is true if the group waits until a person acts: the group is Stalled.
	Terminal bool
	// Remark is true if the Blocker blocks nothing: the group continues in another way.
	Remark bool
}

// VMStatus is the state of one ordinal of the group.
type VMStatus struct {
	Ordinal     int32
	Name        string
	Incarnation int32
	// MoRef is empty until the VM is observed.
	MoRef     string
	UUID      string
	Phase     v1alpha1.VMPhase
	Power     vsphere.PowerState
	IPAddress string
	Revision  string
	CloneMode v1alpha1.CloneMode
	// RootDiskGiB and DataDisks are as in vsphere.VM. They must be persisted: a VM out of sight counts in quotas.
	RootDiskGiB int32
	DataDisks   []v1alpha1.VMDisk
	// ReadySince is zero until the VM has passed its readiness gate, and while it is stopped as spec asks. It is kept while the VM is Unhealthy or Lost: status must remember
	// that the VM was ready once.
	ReadySince time.Time
	// Available is true if the VM has been ready for minReadySeconds, or is stopped as spec asks.
	Available bool
	// ShutdownTime is when the guest was asked to shut down, as long as the operator waits for that. It must be persisted before ShutdownGuest: after a takeover, another replica
	// computes the rest of the wait from it.
	ShutdownTime time.Time
	// StartTime is when the VM was first observed on, while it has not passed its readiness gate since. It must be persisted, because it determines when an updated VM has
	// failed.
	StartTime time.Time
	// Updating is true from before the VM is stopped for an update until the VM is ready again. It must be persisted before the stop, so that any replica starts the VM again.
	Updating bool
	// StoppedAt is when the operator began to stop the VM for a change that it has not got yet. RefusedAt is when vCenter refused that change as busy. Both must be persisted,
	// RefusedAt before the VM is started again, so that another replica does not stop it again.
	StoppedAt, RefusedAt time.Time
	// Replaces is the VM that this clone replaces, until the clone is recorded. The replaced VM can come back before its successor exists.
	Replaces Lost
	// RestartPending is true for a VM that spec.updateStrategy.resize Hot leaves unchanged until it is off.
	RestartPending bool
	// Message names the problem and the remedy, or is empty.
	Message string
	// Hangs is the part of Message about a question of the VM and about long-running tasks, or empty.
	Hangs string
}

// Foreign is a VM that the operator does not touch.
type Foreign struct {
	MoRef, Name string
	// Copy is true for a VM that carries the group's stamp but is not the recorded VM.
	Copy bool
	// Back is true for a VM of the group that came back after it was replaced.
	Back bool
	// Ordinal of the stamp.
	Ordinal int32
	// Released is true for a VM that has a name of the group and that deletionPolicy Retain released.
	Released bool
	// TakesName is true if the VM lies in the group's folder under a name that the group would use.
	TakesName bool
}

// Plan has the next actions of the group and its state.
type Plan struct {
	// Actions in the order of submission.
	Actions []Action
	// Blockers, the most important first.
	Blockers []Blocker
	// VMs sorted by ordinal. They include ordinals that CreateVM actions will fill (phase Cloning).
	VMs []VMStatus
	// Doomed are the ordinals that are being deleted, sorted. It must be persisted before Mark or Destroy.
	Doomed []int32
	// Listed is the record for status of the VMs that leave first, by name.
	Listed []Listed
	// Gate is the record for status of the readiness gate.
	Gate Gate
	// Replaced is the record for status of VMs that were lost and replaced.
	Replaced []string
	// Foreign VMs, sorted by MoRef.
	Foreign []Foreign
	// Outdated are the names of VMs of another revision, sorted by ordinal.
	Outdated []string
	// Rollout is the record for status of the update. It is also set while the observation is incomplete or the group is paused. It must be persisted before any action.
	Rollout Rollout
	// Revisions are the shapes to record in status, the newest last. AdoptedRevisions are those of adopted VMs.
	Revisions, AdoptedRevisions []v1alpha1.Revision
	// Update is the progress of the VMs towards spec. It is empty for a group that is being deleted.
	Update Update
	// Behind is true if the group has the VMs that it needs and an update changes them. Groups that lack VMs have priority.
	Behind bool
	// Surge is how many VMs above Desired an update wants now. They are no surplus.
	Surge int32
	// Desired is the wanted number of VMs. Existing counts the VMs that exist and are not doomed. Ready (available VMs) and Updated are subsets of Existing.
	Desired, Existing, Ready, Updated int32
	// StampedBy is another installation whose stamps hold the group, or empty.
	StampedBy string
	// Held explains why VMs that would leave are kept. It is nil if there is no such VM.
	Held *RemovalHold
	// Replaces is true if a VM is chosen to leave before its replacement was cloned. A caller that knows that no VM can be cloned sets CreateBlocked, and no VM is chosen.
	Replaces bool
	// Adopting is the number of VMs of another group that are being adopted. LeftToAdopt is the number of further ones that the group has no room for.
	Adopting, LeftToAdopt int32
	// Repairing is true if an action or a wait corrects a change from outside.
	Repairing bool
	// Settled is true if no work is left: all wanted VMs are available, none is unwanted, no operation is in flight, and nothing is blocked.
	Settled bool
	// Gone is true if the group is being deleted, none of its VMs is left, and none can still appear. A paused group gets no action and is never Gone.
	Gone bool
	// Kept is true if the group is being deleted, keeps its VMs, and has no work left for them. VMs then lists the VMs that stay.
	Kept bool
	// WakeAt is the time of the next run without a change; zero for never.
	WakeAt time.Time
}

// Lacks reports whether the group has fewer available VMs than it needs. Then its actions have priority over the updates of other groups.
func (p Plan) Lacks() bool { return !p.Behind && p.Ready < p.Desired }
