package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is the one-word summary that the original operator showed.
type Phase string

// Phases, as in the original operator.
const (
	// PhaseRunning means that all VMs match spec.
	PhaseRunning Phase = "RUNNING"
	// PhasePending means that work is in progress, or that the operator retries it automatically.
	PhasePending Phase = "PENDING"
	// PhaseError means that a user must act; condition Stalled names the user and the action.
	PhaseError Phase = "ERROR"
)

// Epoch is a fencing number: a controller with a lower epoch than the recorded one must not act. Epochs are ordered by generation, then
// number.
type Epoch struct {
	// generation of the shard map. It increases when the shard map is rebuilt.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// number of the shard's takeover within the generation.
	// +optional
	Number int64 `json:"number,omitempty"`
}

// Less reports whether o supersedes e.
func (e Epoch) Less(o Epoch) bool {
	return e.Generation < o.Generation || (e.Generation == o.Generation && e.Number < o.Number)
}

// Ownership is the fence of a group.
type Ownership struct {
	// epoch of the last controller that wrote this status.
	// +optional
	Epoch Epoch `json:"epoch,omitzero"`
}

// FolderStatus is the vCenter folder of a group. The operator finds or creates it once and never recomputes it.
type FolderStatus struct {
	// path is the inventory path at the time of creation; for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
	// moRef is the managed object reference, for example group-v42; for the operator.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	MoRef string `json:"moRef,omitempty"`
}

// VMPhase is the state of one VM of a group.
type VMPhase string

// VM phases.
const (
	// VMPending means that the VM waits for a free task slot of its vCenter, or for a retry.
	VMPending VMPhase = "Pending"
	// VMCloning means that the operator decided to clone; the request has possibly not reached vCenter yet.
	VMCloning VMPhase = "Cloning"
	// VMStarting means that the VM exists and is being powered on or has not passed its readiness gate.
	VMStarting VMPhase = "Starting"
	// VMReady means that the VM passed its readiness gate.
	VMReady VMPhase = "Ready"
	// VMStopped means that the VM is powered off as spec requires.
	VMStopped VMPhase = "Stopped"
	// VMDeleting means that the VM is being removed. It is never revived.
	VMDeleting VMPhase = "Deleting"
	// VMLost means that the VM was seen before and is now not found or unreachable.
	VMLost VMPhase = "Lost"
	// VMUnhealthy means that the VM has the wrong power state or its host is disconnected.
	VMUnhealthy VMPhase = "Unhealthy"
	// VMAdopting means that the VM still belongs to another group and is being adopted.
	VMAdopting VMPhase = "Adopting"
	// VMFailed means that the last clone or power operation of this VM failed; message has the reason.
	VMFailed VMPhase = "Failed"
)

// ListedVM is the VM that a name in spec.scaleDown.deleteFirst refers to. The name does not refer to another VM that gets it later.
type ListedVM struct {
	// name of the VM, as in spec.
	// +kubebuilder:validation:MaxLength=80
	Name string `json:"name"`
	// moRef is the managed object reference. A later VM of the same name has another one.
	// +kubebuilder:validation:MaxLength=128
	MoRef string `json:"moRef"`
}

// VMStatus is one VM of a group.
type VMStatus struct {
	// name of the VM in vCenter: group name, dash, ordinal.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`
	// ordinal of the VM within its group, from 0.
	// +required
	Ordinal int32 `json:"ordinal"`
	// incarnation is the number of times that this ordinal was replaced after its VM was lost.
	// +optional
	Incarnation int32 `json:"incarnation,omitempty"`
	// uuid is the instance UUID.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UUID string `json:"uuid,omitempty"`
	// moRef is the managed object reference, for example vm-42. moRef and uuid identify the VM: another VM with the same owner stamp is a
	// copy.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	MoRef string `json:"moRef,omitempty"`
	// phase of the VM.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Phase VMPhase `json:"phase,omitempty"`
	// powerState as vCenter reports it: PoweredOn, PoweredOff or Suspended.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	PowerState string `json:"powerState,omitempty"`
	// ipAddress is the primary address that VMware Tools reports.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	IPAddress string `json:"ipAddress,omitempty"`
	// revision that the VM was cloned with.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
	// cloneMode that was used, Full or Linked.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CloneMode CloneMode `json:"cloneMode,omitempty"`
	// rootDiskGiB is the largest size in GiB that the operator gave the root disk. Disks do not shrink. It is unset if the disk is that of the
	// template.
	// +optional
	RootDiskGiB int32 `json:"rootDiskGiB,omitempty"`
	// dataDisks are the data disks that the operator created, including those that spec does not name any more.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	DataDisks []VMDisk `json:"dataDisks,omitempty"`
	// readySince is the time since which the VM passes the readiness gate, including an earlier gate: see readinessGate.
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`
	// shutdownTime is when the operator asked the guest to shut down, while it waits for that. spec.shutdown has the timeout.
	// +optional
	ShutdownTime *metav1.Time `json:"shutdownTime,omitempty"`
	// startTime is when the operator first saw the VM powered on, until the VM passes its readiness gate. It is set anew after the VM was
	// changed in place, and after its host was unreachable. A lost VM that was ready once has a startTime if it was not ready when last
	// seen.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// updating is true from before the VM is stopped for an update until the VM is ready again.
	// +optional
	Updating bool `json:"updating,omitempty"`
	// stoppedForChange is when the operator began to stop the VM for a change that is not applied yet.
	// +optional
	StoppedForChange *metav1.Time `json:"stoppedForChange,omitempty"`
	// changeRefused is when vCenter refused that change as busy. The operator started the VM again, and does not stop it for a while.
	// +optional
	ChangeRefused *metav1.Time `json:"changeRefused,omitempty"`
	// replaces is the lost VM that this one is cloned in place of, until the operator sees the clone. The operator searches for the lost VM
	// before each attempt.
	// +optional
	Replaces *LostVM `json:"replaces,omitempty"`
	// restartPending is true while the VM needs a restart to match spec, and updateStrategy.resize is Hot.
	// +optional
	RestartPending bool `json:"restartPending,omitempty"`
	// message has the VM's problem and the action to take.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// JudgingGate is a readiness gate that is applied to VMs.
type JudgingGate struct {
	// name is readiness.gate, followed by a hash of readiness.guestInfo if that is set.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// since is when the gate was first applied to VMs. For a VM that was ready before, minReadySeconds starts at this time.
	// +required
	Since metav1.Time `json:"since"`
}

// VMDisk is a data disk of a VM.
type VMDisk struct {
	// name of the disk in spec.disks.data.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// sizeGiB is the largest size in GiB that the operator gave the disk.
	// +required
	SizeGiB int32 `json:"sizeGiB"`
	// uuid of the disk in vCenter. A Linux guest shows a disk on a SCSI controller as /dev/disk/by-id/wwn-0x<uuid without hyphens>, after the VM was started with it.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	UUID string `json:"uuid,omitempty"`
}

// LostVM is a VM that does not exist according to vCenter.
type LostVM struct {
	// moRef that the VM had.
	// +required
	// +kubebuilder:validation:MaxLength=128
	MoRef string `json:"moRef"`
	// uuid is the instance UUID of the VM. The VM keeps it when it is registered again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UUID string `json:"uuid,omitempty"`
}

// Admitted is the shape and number of VMs that policies and quotas last allowed. While spec exceeds them, the group is kept at these
// values. If a VM is lost meanwhile, the operator replaces it with one of this shape.
type Admitted struct {
	// revision that was admitted last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
	// replicas that were admitted last.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// The shape is that of revision.
	VMShape `json:",inline"`
}

// MaxRevisions is the number of shapes that status.revisions records. MaxAdoptedRevisions is that of status.adoptedRevisions.
const (
	MaxRevisions        = 5
	MaxAdoptedRevisions = 16
)

// Revision is the shape of the VMs of a revision. The operator uses it only if the revision computed from its fields equals the one it
// names.
type Revision struct {
	// revision as in vms.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	VMShape  `json:",inline"`
	// replaceTrigger is as in spec.updateStrategy.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ReplaceTrigger string `json:"replaceTrigger,omitempty"`
}

// Rollout is the current or last update of a group's VMs to a revision. Condition UpToDate shows its progress.
type Rollout struct {
	// revision that VMs are updated to.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// from are the revisions whose VMs are updated. If empty, no VM is updated: the update has ended, or none was started.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	From []string `json:"from,omitempty"`
	// startTime of the update, while it is in progress.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// failed are the instance UUIDs of updated VMs that did not become ready in time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=64
	Failed []string `json:"failed,omitempty"`
	// surge are the VMs that updates have added. They are removed before others, once the update does not need them any more. A release
	// that does not support surge leaves it out.
	// +optional
	Surge *RolloutSurge `json:"surge,omitempty"`
	// tried is true once a VM that was stopped for this update got its change, and vCenter has refused no change as busy since. Until then,
	// the operator stops one VM at a time.
	// +optional
	Tried bool `json:"tried,omitempty"`
	// changeRefused is when vCenter last refused as busy a change of a VM that is being removed from the group, or was removed. For 15
	// minutes after that, the operator stops no VM for a change. Absent after that time.
	// +optional
	ChangeRefused *metav1.Time `json:"changeRefused,omitempty"`
}

// RolloutSurge are the VMs above spec.replicas that updates have added.
type RolloutSurge struct {
	// uuids are their instance UUIDs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=64
	UUIDs []string `json:"uuids,omitempty"`
}

// MaxEdits is the number of edits that status.edits records.
const MaxEdits = 5

// MaxEditFields is the number of fields that an edit names.
const MaxEditFields = 32

// Edit is a stored change of spec: who made it, and which fields it changed. It is information for people. The operator makes no decision
// by it: users with write access to status can write any name, and a restored or copied object has the edits of the original.
type Edit struct {
	// generation of the VmGroup that the change made. 1 is the creation.
	// +required
	Generation int64 `json:"generation"`
	// time at which the operator reviewed the change.
	// +required
	Time metav1.Time `json:"time"`
	// user as this cluster's API server names the user. Empty if several users asked for this change and the operator cannot know whose
	// request was stored.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	User string `json:"user,omitempty"`
	// manager is the field manager of the change, for example kubectl-edit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Manager string `json:"manager,omitempty"`
	// fields that the change set, with the old and the new value if these are numbers, words or names: "replicas 2→5". Empty for a creation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	Fields []string `json:"fields,omitempty"`
}

// The counts of a status have defaults: a merge patch writes no zero for a field that was absent, and kubectl would show an empty column.

// VmGroupStatus is the observed state, and the record of the operator's actions.
type VmGroupStatus struct {
	// conditions of the group; see docs/reference/vmgroup.md for types and reasons.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:default={{type: "Ready", status: "Unknown", reason: "NotYetReconciled", message: "No operator has looked at this VmGroup yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is RUNNING, PENDING or ERROR, as in the original operator.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Phase Phase `json:"phase,omitempty"`
	// currentReplicas is the number of VMs that exist and are not being deleted: replicas, under the name of the original operator.
	// +optional
	// +kubebuilder:default=0
	CurrentReplicas int32 `json:"currentReplicas"`
	// desiredReplicas is spec.replicas as of observedGeneration.
	// +optional
	// +kubebuilder:default=0
	DesiredReplicas int32 `json:"desiredReplicas"`
	// lastMessage is a summary of at most 120 characters that begins with the object. The conditions Ready and Stalled have the full
	// message.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastMessage string `json:"lastMessage,omitempty"`
	// replicas is the number of VMs that exist and are not being deleted; read by /scale.
	// +optional
	// +kubebuilder:default=0
	Replicas int32 `json:"replicas"`
	// readyReplicas is the number of VMs that passed the readiness gate for minReadySeconds.
	// +optional
	// +kubebuilder:default=0
	ReadyReplicas int32 `json:"readyReplicas"`
	// updatedReplicas is the number of VMs of updateRevision.
	// +optional
	// +kubebuilder:default=0
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// selector is a label selector in string form that an autoscaler needs in order to read /scale.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Selector string `json:"selector,omitempty"`
	// currentRevision is the revision that all VMs had when they last all had the same.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CurrentRevision string `json:"currentRevision,omitempty"`
	// updateRevision is the revision of the spec as of observedGeneration.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UpdateRevision string `json:"updateRevision,omitempty"`
	// rollout is the update of the VMs to updateRevision.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`
	// revisions are the present and past shapes of the group's VMs, the newest last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Revisions []Revision `json:"revisions,omitempty"`
	// adoptedRevisions are shapes of VMs that no recorded spec had: adopted VMs can have a size of their own. The operator changes such VMs in
	// place, and clones no VM of these shapes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AdoptedRevisions []Revision `json:"adoptedRevisions,omitempty"`
	// ownership is the fence against a controller that no longer owns the group.
	// +optional
	Ownership *Ownership `json:"ownership,omitempty"`
	// vcenter that the VMs are in; it does not change.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VCenter string `json:"vcenter,omitempty"`
	// vcenterInstanceUuid is the instance UUID of the vCenter that folder and vms refer to: references have no meaning in another vCenter.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VCenterInstanceUUID string `json:"vcenterInstanceUuid,omitempty"`
	// folder that holds the VMs.
	// +optional
	Folder *FolderStatus `json:"folder,omitempty"`
	// vms of the group, sorted by ordinal.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1200
	VMs []VMStatus `json:"vms,omitempty"`
	// readinessGate is the gate that is applied to vms. If absent, the gate is PoweredOn without guestInfo.
	// +optional
	ReadinessGate *JudgingGate `json:"readinessGate,omitempty"`
	// deleting holds the ordinals whose VMs are being destroyed. It is written before the first destroy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1200
	Deleting []int32 `json:"deleting,omitempty"`
	// deleteFirst are the VMs that spec.scaleDown.deleteFirst names, as recorded when a VM of that name was first seen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	DeleteFirst []ListedVM `json:"deleteFirst,omitempty"`
	// replaced are the instance UUIDs of VMs that were lost and then replaced or not needed any more, the latest last. If such a VM
	// reappears, the operator reports it and does not remove it as surplus.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=64
	Replaced []string `json:"replaced,omitempty"`
	// adoptedFrom is the UID of the group whose VMs were adopted, once the adoption has ended.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AdoptedFrom string `json:"adoptedFrom,omitempty"`
	// admitted is the shape and number of VMs that policies and quotas last allowed.
	// +optional
	Admitted *Admitted `json:"admitted,omitempty"`
	// edits are the last changes of spec that the operator reviewed and saw stored, the newest last. A change that bypassed the operator's
	// webhook is absent.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Edits []Edit `json:"edits,omitempty"`
}
