package plan

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ActionKind is the closed set of things that a plan can ask for.
type ActionKind string

// Actions, in the order in which a VM meets them.
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
	// ReconfigureVM changes size or network of a VM, and the revision in its stamp, in one call.
	ReconfigureVM ActionKind = "ReconfigureVM"
)

// Action is one step. A step is submitted and never waited for; the next Compute sees its effect.
type Action struct {
	Kind    ActionKind
	Ordinal int32
	// Name of the VM.
	Name string
	// UUID and Incarnation are set for CreateVM. UUID is also set for what takes a VM over: it is the one that the VM has.
	UUID        string
	Incarnation int32
	// MoRef and ChangeVersion are set for every other kind.
	MoRef         string
	ChangeVersion string
	// Within is set for ShutdownGuest: how long the guest may take.
	Within time.Duration
	// Reason is why, as a phrase that completes "because": "the group wants 3 VMs and has 2".
	Reason string
	// Cause is what the action is for.
	Cause Cause
	// Removal is set for DestroyVM.
	Removal RemovalCause
	// Quiet is true for a step that is tried every few minutes until a person has acted: nothing is told of a try that brings nothing new.
	Quiet bool
	// Origin is set for ClaimVM, MoveVM, RenameVM and AdoptVM: what makes the VM the group's to take.
	Origin vsphere.Origin
	// Revision is what the stamp of the VM shall say. It is set for those, for CreateVM, which clones what the revision stands for (it may be an
	// older one than that of spec: see Input.Shapes), and for ReconfigureVM.
	Revision string
	// CPU, MemoryMiB and Network are set for ReconfigureVM, as far as they change: zero and nil leave what the VM has. Network is as in
	// spec.placement; an empty one is the vCenter's default.
	CPU       int32
	MemoryMiB int64
	Network   *string
}

// RemovalCause is why a VM is destroyed, as the audit line and vmgroup_vms_destroyed_total name it.
type RemovalCause string

// Causes of a removal.
const (
	RemovedByDeletion  RemovalCause = "deletion"
	RemovedByScaleDown RemovalCause = "scale-down"
	// RemovedByReplacement is a VM of an older revision, in whose place another comes, or came.
	RemovedByReplacement RemovalCause = "replacement"
)

// RemovalCauses are all of them.
var RemovalCauses = []RemovalCause{RemovedByDeletion, RemovedByScaleDown, RemovedByReplacement}

// Blocker explains what is not done and what a person can do about it.
type Blocker struct {
	// Reason is a condition reason of the API.
	Reason string
	// Message is a sentence. Brief says the same in few words that begin with the object; empty where Message begins so.
	Message, Brief string
	// Terminal is true when nothing goes on until somebody acts: the group is Stalled.
	Terminal bool
	// Remark is true when nothing waits for it: the group goes on in another way.
	Remark bool
}

// VMStatus is one ordinal of the group: what it holds and in which state.
type VMStatus struct {
	Ordinal     int32
	Name        string
	Incarnation int32
	// MoRef is empty while the VM has not been seen.
	MoRef     string
	UUID      string
	Phase     v1alpha1.VMPhase
	Power     vsphere.PowerState
	IPAddress string
	Revision  string
	CloneMode v1alpha1.CloneMode
	// ReadySince is zero until the VM has passed its readiness gate, and while it is stopped as asked for. It is
	// kept while the VM is Unhealthy or Lost: status must remember that the VM was ready once.
	ReadySince time.Time
	// Available is true when the VM has been ready for minReadySeconds (or is stopped as asked for).
	Available bool
	// ShutdownTime is when the guest was asked to shut down, as long as that is waited for. It must be persisted before ShutdownGuest: what
	// is left of the wait is computed from it after a takeover.
	ShutdownTime time.Time
	// StartTime is when the VM was found to be on, while it has not passed its readiness gate since. It must be persisted: from it follows when an
	// updated VM has failed.
	StartTime time.Time
	// Updating is true from before the VM is stopped for an update until it is ready again. It must be persisted before the VM is stopped, so that it
	// is started again whoever goes on.
	Updating bool
	// StoppedAt is when the operator began to stop the VM for a change that it has not got yet, RefusedAt when vCenter refused that change as busy. Both must be
	// persisted, RefusedAt before the VM is started again, so that whoever goes on does not stop it again.
	StoppedAt, RefusedAt time.Time
	// Replaces is the VM in whose place this one is cloned, while no VM is recorded: it can come back before its successor is there.
	Replaces Lost
	// RestartPending is true for a VM that spec.updateStrategy.resize Hot leaves as it is until it is off.
	RestartPending bool
	// Message says what is wrong and what to do; empty when nothing is.
	Message string
	// Hangs is what Message says of a question that the VM asks and of a task that runs for long; empty for neither.
	Hangs string
}

// Foreign is a VM that the operator does not touch.
type Foreign struct {
	MoRef, Name string
	// Copy is true for a VM that carries the group's stamp without being the VM that was recorded.
	Copy bool
	// Back is true for a VM of the group that came back after it was replaced.
	Back bool
	// Ordinal of the stamp.
	Ordinal int32
	// Released is true for a VM with a name of the group's that deletionPolicy Retain let go.
	Released bool
	// TakesName is true when the VM lies in the group's folder under a name that the group would use.
	TakesName bool
}

// Plan is what to do next.
type Plan struct {
	// Actions in the order in which they shall be submitted.
	Actions []Action
	// Blockers, the most important first.
	Blockers []Blocker
	// VMs sorted by ordinal; they include ordinals that Actions of kind CreateVM will fill (phase Cloning).
	VMs []VMStatus
	// Doomed are the ordinals that are being deleted, sorted. It must be persisted before Mark or Destroy.
	Doomed []int32
	// Listed is what status is to record of the VMs that leave first, by name.
	Listed []Listed
	// Gate is what status is to record of the gate by which VMs are judged.
	Gate Gate
	// Replaced is what status is to record of VMs that were lost, and that the group does without.
	Replaced []string
	// Foreign VMs, sorted by MoRef.
	Foreign []Foreign
	// Outdated are the names of VMs of another revision, sorted by ordinal.
	Outdated []string
	// Rollout is what status is to record of the update, also while the observation is incomplete or the group is paused. It must be persisted
	// before any action.
	Rollout Rollout
	// Revisions are the shapes that status is to record, the newest last.
	Revisions []v1alpha1.Revision
	// Update says how far the VMs are as spec says; empty for a group that is being deleted.
	Update Update
	// Behind is true when the group has the VMs that it needs, and an update changes them: what other groups lack comes first.
	Behind bool
	// Surge is how many VMs above Desired an update wants to have now. They are no surplus.
	Surge int32
	// Desired is the wanted number of VMs; Existing those that exist and are not doomed; Ready (available ones)
	// and Updated are subsets of Existing.
	Desired, Existing, Ready, Updated int32
	// StampedBy is another installation whose stamps hold the group, or empty.
	StampedBy string
	// Held is why VMs that are to leave are kept, or nil when none is.
	Held *RemovalHold
	// Replaces is true when a VM is chosen to leave before another was cloned in its place. Who knows that none can be cloned says so in CreateBlocked, and none is chosen.
	Replaces bool
	// Adopting is how many VMs of another group are being taken over, and LeftToAdopt how many more there are than the group has room for.
	Adopting, LeftToAdopt int32
	// Repairing is true when an action or a wait makes up for a change from outside.
	Repairing bool
	// Settled is true when nothing is left to do: all wanted VMs available, none unwanted, nothing in flight,
	// nothing blocked.
	Settled bool
	// Gone is true when the group is being deleted and none of its VMs is left or may still appear. A paused
	// group is left alone, and never Gone.
	Gone bool
	// Kept is true when the group is being deleted and keeps its VMs, and nothing is left to do for them: VMs are those that stay.
	Kept bool
	// WakeAt is when to look again although nothing changed; zero for never.
	WakeAt time.Time
}

// Lacks reports whether the group has fewer VMs than it needs, so that what it waits for comes before what others have updated.
func (p Plan) Lacks() bool { return !p.Behind && p.Ready < p.Desired }
