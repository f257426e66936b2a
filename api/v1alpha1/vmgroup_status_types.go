package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is the one-word summary that the original operator showed.
type Phase string

// Phases, as in the original operator.
const (
	// PhaseRunning means that all VMs are as asked for.
	PhaseRunning Phase = "RUNNING"
	// PhasePending means that work is under way or will be tried again on its own.
	PhasePending Phase = "PENDING"
	// PhaseError means that somebody has to act; condition Stalled says who and how.
	PhaseError Phase = "ERROR"
)

// Epoch is a fencing number: a controller with a lower one than recorded must not act. It is ordered by
// generation, then number.
type Epoch struct {
	// generation of the ring of shards. It rises when the ring is rebuilt.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// number of the shard's takeover within the generation.
	// +optional
	Number int64 `json:"number,omitempty"`
}

// Less says whether e was overtaken by o.
func (e Epoch) Less(o Epoch) bool {
	return e.Generation < o.Generation || (e.Generation == o.Generation && e.Number < o.Number)
}

// Ownership is the fence of a group.
type Ownership struct {
	// epoch of the last controller that wrote this status.
	// +optional
	Epoch Epoch `json:"epoch,omitzero"`
}

// FolderStatus is the vCenter folder of a group. It is found or created once and never recomputed.
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
	// VMPending means that a VM is wanted and waits for a free task slot of its vCenter, or for a retry.
	VMPending VMPhase = "Pending"
	// VMCloning means that a clone was decided on; it may or may not have reached vCenter yet.
	VMCloning VMPhase = "Cloning"
	// VMStarting means that the VM exists and is being powered on or has not passed its readiness gate.
	VMStarting VMPhase = "Starting"
	// VMReady means that the VM passed its readiness gate.
	VMReady VMPhase = "Ready"
	// VMStopped means that the VM is powered off as asked for.
	VMStopped VMPhase = "Stopped"
	// VMDeleting means that the VM is being removed. It is never revived.
	VMDeleting VMPhase = "Deleting"
	// VMLost means that the VM was seen before and is not found now, or cannot be reached.
	VMLost VMPhase = "Lost"
	// VMUnhealthy means that the VM has the wrong power state or its host is disconnected.
	VMUnhealthy VMPhase = "Unhealthy"
	// VMAdopting means that the VM is another group's still, and is being taken over.
	VMAdopting VMPhase = "Adopting"
	// VMFailed means that the last clone or power operation of this VM failed; message says why.
	VMFailed VMPhase = "Failed"
)

// ListedVM is the VM that a name in spec.scaleDown.deleteFirst means. Another VM that gets the name later is not meant.
type ListedVM struct {
	// name of the VM, as in spec.
	// +kubebuilder:validation:MaxLength=80
	Name string `json:"name"`
	// moRef is the managed object reference. A later VM of the same name has another.
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
	// incarnation counts how often this ordinal was replaced after its VM was lost.
	// +optional
	Incarnation int32 `json:"incarnation,omitempty"`
	// uuid is the instance UUID.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UUID string `json:"uuid,omitempty"`
	// moRef is the managed object reference, for example vm-42. With uuid it is the VM's identity: another VM
	// that carries the same owner stamp is a copy.
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
	// readySince is since when the VM passes the readiness gate, also one that was another before: see readinessGate.
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`
	// shutdownTime is when the guest was asked to shut down, while that is waited for. spec.shutdown says for how long.
	// +optional
	ShutdownTime *metav1.Time `json:"shutdownTime,omitempty"`
	// startTime is when the VM was found to be on for the first time, while it has not passed its readiness gate since. It is found anew when the VM
	// was changed in place, and when its host was away. A lost VM that was ready once has it if it was not ready when it was seen last.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// updating is true from before the VM is stopped for an update until it is ready again.
	// +optional
	Updating bool `json:"updating,omitempty"`
	// stoppedForChange is when the operator began to stop the VM for a change that it has not got yet.
	// +optional
	StoppedForChange *metav1.Time `json:"stoppedForChange,omitempty"`
	// changeRefused is when vCenter refused that change as busy. The VM was started again, and is not stopped for a while.
	// +optional
	ChangeRefused *metav1.Time `json:"changeRefused,omitempty"`
	// replaces is the VM that was lost and in whose place this one is cloned, until the clone is seen. It is looked for before each attempt.
	// +optional
	Replaces *LostVM `json:"replaces,omitempty"`
	// restartPending is true while the VM needs a restart to be as spec says, and updateStrategy.resize is Hot.
	// +optional
	RestartPending bool `json:"restartPending,omitempty"`
	// message says what is wrong with the VM and what to do, for a person.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// JudgingGate is a readiness gate by which VMs are judged.
type JudgingGate struct {
	// name is readiness.gate, followed by a hash of readiness.guestInfo if that is set.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// since is when VMs were judged by it for the first time. minReadySeconds of a VM runs from then, if it was ready before.
	// +required
	Since metav1.Time `json:"since"`
}

// LostVM is a VM that vCenter says does not exist.
type LostVM struct {
	// moRef that it had.
	// +required
	// +kubebuilder:validation:MaxLength=128
	MoRef string `json:"moRef"`
	// uuid is its instance UUID, which it keeps when it is registered again.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UUID string `json:"uuid,omitempty"`
}

// Admitted is what policy and quota last granted. While spec asks for more than they allow, the group is held at it.
type Admitted struct {
	// revision that was admitted last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
	// replicas that were admitted last.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// cpu, memory, template, placement, cloneMode and userDataSecretRef are what revision stands for: a VM that is lost
	// while the group is held is replaced by one of that kind.
	// +optional
	CPU int32 `json:"cpu,omitempty"`
	// +optional
	Memory int32 `json:"memory,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Template string `json:"template,omitempty"`
	// +optional
	Placement *Placement `json:"placement,omitempty"`
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`
	// +optional
	UserDataSecretRef *LocalObjectReference `json:"userDataSecretRef,omitempty"`
}

// MaxRevisions is how many shapes status.revisions records.
const MaxRevisions = 5

// Revision is what VMs of a revision were made of. It is believed only if the revision that is computed of it is the one that it names.
type Revision struct {
	// revision as in vms.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// cpu, memory, template, placement, cloneMode, userDataSecretRef and replaceTrigger are as in spec.
	// +optional
	CPU int32 `json:"cpu,omitempty"`
	// +optional
	Memory int32 `json:"memory,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Template string `json:"template,omitempty"`
	// +optional
	Placement *Placement `json:"placement,omitempty"`
	// +optional
	CloneMode CloneMode `json:"cloneMode,omitempty"`
	// +optional
	UserDataSecretRef *LocalObjectReference `json:"userDataSecretRef,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ReplaceTrigger string `json:"replaceTrigger,omitempty"`
}

// Rollout is the update of a group's VMs to a revision, the one that is under way or the last one. What it does and waits for is
// condition UpToDate.
type Rollout struct {
	// revision that VMs are brought to.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// from are the revisions whose VMs are updated. Without any, no VM is: the update has ended, or none was started.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	From []string `json:"from,omitempty"`
	// startTime of the update, while there is one.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// failed are the instance UUIDs of updated VMs that did not become ready in time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=64
	Failed []string `json:"failed,omitempty"`
	// surge are the VMs that updates have added. They leave before others do, once the update does not want them any more. A release that does not
	// know of it leaves it out.
	// +optional
	Surge *RolloutSurge `json:"surge,omitempty"`
	// tried is true once a VM that was stopped for this update got its change, and vCenter has refused none as busy since. Until then one VM is stopped at a time.
	// +optional
	Tried bool `json:"tried,omitempty"`
	// changeRefused is when vCenter last refused as busy the change of a VM that leaves the group, or has left it. For 15 minutes after
	// that, no VM is stopped to be changed. Absent after that time.
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

// The counts of a status have defaults, because a merge patch writes no zero where nothing was before, and kubectl would show an empty column.

// VmGroupStatus is what the operator last saw and did.
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
	// currentReplicas is the number of VMs that exist and are not being deleted. The original's name for replicas.
	// +optional
	// +kubebuilder:default=0
	CurrentReplicas int32 `json:"currentReplicas"`
	// desiredReplicas is spec.replicas as of observedGeneration.
	// +optional
	// +kubebuilder:default=0
	DesiredReplicas int32 `json:"desiredReplicas"`
	// lastMessage says in at most 120 characters what there is to say, the object first. The conditions Ready and Stalled have the whole sentence.
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
	// revisions are what VMs of the group are or were made of, the newest last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Revisions []Revision `json:"revisions,omitempty"`
	// ownership is the fence against a controller that no longer owns the group.
	// +optional
	Ownership *Ownership `json:"ownership,omitempty"`
	// vcenter that the VMs are in; it does not change.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VCenter string `json:"vcenter,omitempty"`
	// vcenterInstanceUuid is the instance UUID of the vCenter in which folder and vms are known: references mean nothing in another.
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
	// readinessGate is the gate by which vms are judged. Absent is PoweredOn without guestInfo.
	// +optional
	ReadinessGate *JudgingGate `json:"readinessGate,omitempty"`
	// deleting holds the ordinals whose VMs are being destroyed. It is written before the first destroy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1200
	Deleting []int32 `json:"deleting,omitempty"`
	// deleteFirst are the VMs that spec.scaleDown.deleteFirst names, as they were when a VM of the name was first seen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	DeleteFirst []ListedVM `json:"deleteFirst,omitempty"`
	// replaced are the instance UUIDs of VMs that were lost and replaced, or not needed any more, the latest last. One that comes back is named, and is not surplus.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=64
	Replaced []string `json:"replaced,omitempty"`
	// adoptedFrom is the UID of the group whose VMs were taken over, once that has ended.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AdoptedFrom string `json:"adoptedFrom,omitempty"`
	// admitted is what policy and quota last granted.
	// +optional
	Admitted *Admitted `json:"admitted,omitempty"`
}
