package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// VmGroupFinalizer holds a VmGroup until its VMs are gone from vCenter (or retained there, with
	// deletionPolicy Retain).
	VmGroupFinalizer = "vm.codeconnect.vmworld.com/vmgroup"

	// LegacyFinalizer is the finalizer of the original codeconnect VM operator. An object that carries it is
	// held untouched until [AdoptAnnotation] says what shall become of it.
	LegacyFinalizer = "vm-operator"

	// AdoptAnnotation decides over an object of the original operator: [AdoptLegacy] or [AdoptAbandon]. Any other value is the UID of a VmGroup of the
	// same namespace that does not exist any more, and whose VMs this one takes over before it clones any.
	AdoptAnnotation = "vm.codeconnect.vmworld.com/adopt"
	// AdoptLegacy stamps the original's VMs and keeps them, with their managed object references.
	AdoptLegacy = "legacy"
	// AdoptAbandon leaves the original's VMs in vCenter, unmanaged.
	AdoptAbandon = "abandon"

	// PausedAnnotation pauses a group like spec.paused when its value is "true". A GitOps tool does not undo it.
	PausedAnnotation = "vm.codeconnect.vmworld.com/paused"
)

// CloneMode says how the disks of a new VM relate to those of its template.
// +kubebuilder:validation:Enum=Full;Linked;LinkedPreferred
type CloneMode string

// Clone modes.
const (
	// CloneFull copies the template's disks.
	CloneFull CloneMode = "Full"
	// CloneLinked shares the template's disks through its current snapshot; without a snapshot nothing is cloned.
	CloneLinked CloneMode = "Linked"
	// CloneLinkedPreferred is Linked where the template has a snapshot, Full otherwise.
	CloneLinkedPreferred CloneMode = "LinkedPreferred"
)

// PowerState is the power state that a group's VMs shall have.
// +kubebuilder:validation:Enum=PoweredOn;PoweredOff
type PowerState string

// Power states.
const (
	PoweredOn  PowerState = "PoweredOn"
	PoweredOff PowerState = "PoweredOff"
)

// DeletionPolicy says what becomes of VMs that are no longer wanted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// Deletion policies.
const (
	// DeletionDelete destroys the VMs with their disks.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionRetain replaces the owner stamp by a retention mark and leaves the VMs as they are otherwise.
	DeletionRetain DeletionPolicy = "Retain"
)

// ShutdownMode says whether the guest of a VM is asked before the VM is powered off.
// +kubebuilder:validation:Enum=Graceful;Hard
type ShutdownMode string

// Shutdown modes.
const (
	// ShutdownGraceful asks the guest to shut down, and powers the VM off if it has not done so in time.
	ShutdownGraceful ShutdownMode = "Graceful"
	// ShutdownHard powers the VM off at once.
	ShutdownHard ShutdownMode = "Hard"
)

// DefaultShutdownTimeoutSeconds is spec.shutdown.timeoutSeconds of a group that does not say it.
const DefaultShutdownTimeoutSeconds = 180

// Shutdown says how a VM is stopped: when it is removed, and when powerState becomes PoweredOff. A VM in whose guest VMware Tools do
// not run is powered off at once, whatever this says.
type Shutdown struct {
	// mode is Graceful (ask the guest to shut down, and power off what has not done so in time) or Hard (power off at once).
	// Set it to Hard to end a wait that is under way.
	// +optional
	// +kubebuilder:default=Graceful
	Mode ShutdownMode `json:"mode,omitempty"`
	// timeoutSeconds is how long a guest may take, in seconds, from when it was asked. A change also holds for guests that
	// were asked before.
	// +optional
	// +kubebuilder:default=180
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// DeletionProtection says whether a group may be deleted.
// +kubebuilder:validation:Enum=Enabled;Disabled
type DeletionProtection string

// Deletion protections.
const (
	DeletionProtectionEnabled  DeletionProtection = "Enabled"
	DeletionProtectionDisabled DeletionProtection = "Disabled"
)

// Placement chooses where new VMs go. Every reference is an inventory name or path and must be granted by the
// VCenter; an empty one takes the VCenter's default.
type Placement struct {
	// resourcePool is the name or inventory path of the resource pool.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ResourcePool string `json:"resourcePool,omitempty"`
	// datastore is the name or inventory path of the datastore.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Datastore string `json:"datastore,omitempty"`
	// network is the name or inventory path of the network of the first network adapter.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Network string `json:"network,omitempty"`
}

// UpdateStrategyType says when VMs of an older revision are brought up to date.
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type UpdateStrategyType string

// Update strategies.
const (
	UpdateRolling  UpdateStrategyType = "RollingUpdate"
	UpdateOnDelete UpdateStrategyType = "OnDelete"
)

// ResizeMode says how far an update of cpu or memory may disturb a VM.
// +kubebuilder:validation:Enum=Hot;Restart;Recreate
type ResizeMode string

// Resize modes.
const (
	ResizeHot      ResizeMode = "Hot"
	ResizeRestart  ResizeMode = "Restart"
	ResizeRecreate ResizeMode = "Recreate"
)

// UpdateStrategy says how an edit of spec reaches the VMs that already exist.
//
// A percentage is of spec.replicas. That of maxSurge is rounded up, that of maxUnavailable down; if both are percentages that round to
// zero, maxUnavailable counts as 1.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxSurge) && has(self.maxUnavailable) && type(self.maxSurge) == int && self.maxSurge == 0 && type(self.maxUnavailable) == int && self.maxUnavailable == 0)",message="maxSurge and maxUnavailable must not both be 0: no VM could be updated"
type UpdateStrategy struct {
	// type is RollingUpdate, which updates VMs after an edit, or OnDelete, which leaves it to people to delete VMs in vCenter, or to name
	// them in spec.scaleDown.deleteFirst, lower replicas by as many, and raise it again when they are gone; what comes in their place is as spec says.
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`
	// maxSurge is the number of VMs that may exist above spec.replicas during an update: a whole number from 0
	// to 500, or a percentage up to 100%.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 500 : self.matches('^(100|[0-9]{1,2})%$')",message="maxSurge must be a whole number from 0 to 500, or a percentage up to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// maxUnavailable is the number of VMs that may be missing below spec.replicas during an update: a whole number
	// from 0 to 500, or a percentage up to 100%.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 500 : self.matches('^(100|[0-9]{1,2})%$')",message="maxUnavailable must be a whole number from 0 to 500, or a percentage up to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// resize says how cpu and memory reach a VM. Hot never restarts one: where the VM cannot be changed while it runs, status.vms says
	// restartPending, and it is changed when it is off. Restart changes it while it runs where the VM can do that, and restarts it otherwise, within
	// maxUnavailable. Recreate replaces it.
	// +optional
	// +kubebuilder:default=Restart
	Resize ResizeMode `json:"resize,omitempty"`
	// paused stops the update where it is. What exists stays, and is repaired.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// replaceTrigger replaces all VMs when it changes: after a template was rebuilt under its name, or user data changed. Any text will do.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ReplaceTrigger string `json:"replaceTrigger,omitempty"`
	// maxFailures is how many updated VMs may fail to become ready within readiness.startupTimeoutSeconds before the update stops.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxFailures int32 `json:"maxFailures,omitempty"`
}

// ScaleDownOrder says which VM leaves first.
// +kubebuilder:validation:Enum=Newest;Oldest
type ScaleDownOrder string

// Scale-down orders.
const (
	ScaleDownNewest ScaleDownOrder = "Newest"
	ScaleDownOldest ScaleDownOrder = "Oldest"
)

// ScaleDown chooses the VMs that leave when replicas shrink: first those already being deleted, then those
// named in deleteFirst, then unhealthy ones, then by order; the name breaks ties.
type ScaleDown struct {
	// order is Newest or Oldest: which VMs leave first, by the time of the clone.
	// +optional
	// +kubebuilder:default=Newest
	Order ScaleDownOrder `json:"order,omitempty"`
	// deleteFirst names VMs that leave before others. Naming a VM here does not delete it; shrinking replicas does.
	// A name means the VM that has it when it is listed: status.deleteFirst. A new VM that gets the name later is not
	// meant, until the name is taken off the list and listed again.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=80
	DeleteFirst []string `json:"deleteFirst,omitempty"`
}

// ReadinessGate names the observation that makes a VM count as ready.
// +kubebuilder:validation:Enum=PoweredOn;GuestHeartbeat;GuestIP
type ReadinessGate string

// Readiness gates.
const (
	// GatePoweredOn counts a VM ready when it runs on a connected host.
	GatePoweredOn ReadinessGate = "PoweredOn"
	// GateGuestHeartbeat also wants a green heartbeat from VMware Tools.
	GateGuestHeartbeat ReadinessGate = "GuestHeartbeat"
	// GateGuestIP also wants an IP address reported by VMware Tools.
	GateGuestIP ReadinessGate = "GuestIP"
)

// GuestInfoGate is a guestinfo value by which a guest says that it is ready, for example with
// vmtoolsd --cmd "info-set guestinfo.ready yes". It is gone when the VM is powered off, and cleared in a clone.
type GuestInfoGate struct {
	// key begins with guestinfo.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^guestinfo\.[A-Za-z0-9_.-]+$`
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().startsWith('guestinfo.ignition.')",message="the key is one that Ignition reads"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['guestinfo.metadata', 'guestinfo.metadata.encoding', 'guestinfo.userdata', 'guestinfo.userdata.encoding', 'guestinfo.vendordata', 'guestinfo.vendordata.encoding'])",message="the key is one that cloud-init reads"
	Key string `json:"key"`
	// value that the key has to have.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`
	// failedValue says that the guest will not become ready: an updated VM counts as failed at once.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailedValue string `json:"failedValue,omitempty"`
}

// Readiness says when a VM counts as ready.
type Readiness struct {
	// gate is PoweredOn, which counts a VM that runs on a connected host; GuestHeartbeat, which also wants a green heartbeat from VMware Tools; or
	// GuestIP, which also wants an IP address that VMware Tools report.
	// +optional
	// +kubebuilder:default=PoweredOn
	Gate ReadinessGate `json:"gate,omitempty"`
	// minReadySeconds is how long a VM must have passed the gate before it counts, in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// startupTimeoutSeconds is how long an updated VM may take from its first start, or from when it was changed in place, until it passes
	// the gate, in seconds. After that it counts as failed: see updateStrategy.maxFailures. What was before the update is not counted.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	StartupTimeoutSeconds int32 `json:"startupTimeoutSeconds,omitempty"`
	// guestInfo is a value that the guest has to publish, beside the gate.
	// +optional
	GuestInfo *GuestInfoGate `json:"guestInfo,omitempty"`
	// progressDeadlineSeconds is how long a change may take before the group is reported Stalled, in seconds.
	// Zero means no deadline. The operator keeps trying after the deadline.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
}

// RepairMode says what happens to VMs that were changed or lost behind the operator's back.
// +kubebuilder:validation:Enum=Enforce;Observe
type RepairMode string

// Repair modes.
const (
	// RepairEnforce corrects the power state and replaces VMs that were deleted.
	RepairEnforce RepairMode = "Enforce"
	// RepairObserve reports and leaves them alone.
	RepairObserve RepairMode = "Observe"
)

// Repair says how far the operator repairs on its own.
type Repair struct {
	// mode is Enforce, which corrects the power state of VMs and replaces those that were deleted, or Observe, which reports and leaves them alone.
	// +optional
	// +kubebuilder:default=Enforce
	Mode RepairMode `json:"mode,omitempty"`
	// maxUnhealthy is the number of lost or wrongly powered VMs up to which repair acts: a whole number from 0 to 500, or
	// a percentage of spec.replicas up to 100%, rounded down. With more than that the cause is probably not the VMs, and
	// repair waits for a person. Unset means no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 500 : self.matches('^(100|[0-9]{1,2})%$')",message="maxUnhealthy must be a whole number from 0 to 500, or a percentage up to 100%"
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
}

// GuestHostname says which host name a guest gets.
// +kubebuilder:validation:Enum=Name;Keep
type GuestHostname string

// Host names of guests.
const (
	// GuestHostnameName gives a guest the name of its VM.
	GuestHostnameName GuestHostname = "Name"
	// GuestHostnameKeep leaves it to the template and to user data.
	GuestHostnameKeep GuestHostname = "Keep"
)

// Guest is what each guest is told about itself, through guestinfo.metadata for cloud-init. It is written with the clone, and never changed: VMs
// that exist do not get it, since cloud-init would take them for new ones. An edit of it is no update.
type Guest struct {
	// hostname is Name, which gives a guest the name of its VM, or Keep, which leaves it to the template and to user data. Name needs a VmGroup's name without dots and of at most 59 characters; Windows keeps 15 characters of a host name.
	// +optional
	// +kubebuilder:default=Keep
	Hostname GuestHostname `json:"hostname,omitempty"`
	// metadata are further entries for the guest. instance-id, local-hostname and hostname are the operator's.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 128 && self[k].size() <= 1024)",message="keys have 1 to 128 characters, values at most 1024"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['instance-id', 'local-hostname', 'hostname'])",message="instance-id, local-hostname and hostname are set by the operator"
	Metadata map[string]string `json:"metadata,omitempty"`
}

// LocalObjectReference names an object in the same namespace and cluster.
type LocalObjectReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// VmGroupSpec is what a team wants: replicas VMs of one shape, cloned from one template.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.vcenter) || oldSelf.vcenter.size() == 0 || has(self.vcenter) && self.vcenter == oldSelf.vcenter",message="vcenter is immutable once set: VMs do not move between vCenters. Create a new VmGroup instead."
type VmGroupSpec struct {
	// cpu is the number of virtual CPUs per VM.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=768
	CPU int32 `json:"cpu,omitempty"`
	// memory is the memory per VM in GiB.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=24576
	Memory int32 `json:"memory,omitempty"`
	// template is the name or inventory path of a VM that is marked as template in vCenter.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Template string `json:"template,omitempty"`
	// replicas is the number of VMs. Leave it out when an autoscaler owns it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=500
	Replicas *int32 `json:"replicas,omitempty"`
	// vcenter is the name of a VCenter on the hub; empty means "default". Immutable once set.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VCenter string `json:"vcenter,omitempty"`
	// placement chooses where new VMs go.
	// +optional
	Placement *Placement `json:"placement,omitempty"`
	// cloneMode is Full, which copies the template's disks; Linked, which shares them through the template's current snapshot, and clones nothing
	// without one; or LinkedPreferred, which is Linked where the template has a snapshot, and Full otherwise.
	// +optional
	// +kubebuilder:default=Full
	CloneMode CloneMode `json:"cloneMode,omitempty"`
	// powerState is PoweredOn or PoweredOff, for all VMs of the group.
	// +optional
	// +kubebuilder:default=PoweredOn
	PowerState PowerState `json:"powerState,omitempty"`
	// shutdown says how VMs are stopped that are removed, or shall be off. Without it the guest is asked, and has 180 seconds.
	// With deletionPolicy Retain nothing is stopped.
	// +optional
	Shutdown *Shutdown `json:"shutdown,omitempty"`
	// updateStrategy says how an edit reaches VMs that exist. Without it they are updated as with its defaults.
	// +optional
	UpdateStrategy *UpdateStrategy `json:"updateStrategy,omitempty"`
	// scaleDown chooses the VMs that leave first.
	// +optional
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`
	// readiness says when a VM counts as ready.
	// +optional
	Readiness *Readiness `json:"readiness,omitempty"`
	// guest is what each guest is told about itself.
	// +optional
	Guest *Guest `json:"guest,omitempty"`
	// repair says how far the operator repairs on its own.
	// +optional
	Repair *Repair `json:"repair,omitempty"`
	// deletionPolicy is Delete, which destroys surplus VMs with their disks, or Retain, which leaves them in vCenter without the group's stamp.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// deletionProtection, if Enabled, has this cluster refuse to delete the group, and its namespace, until it is Disabled or the namespace's
	// deletion is confirmed. Without a value it is Disabled.
	// +optional
	DeletionProtection DeletionProtection `json:"deletionProtection,omitempty"`
	// userDataSecretRef names a Secret in the group's namespace whose key "userdata" is handed to cloud-init, and whose key
	// "ignition" to Ignition, through guestinfo. Only where the MemberCluster allows it. The Secret has the label vm.codeconnect.vmworld.com/user-data with the value
	// true, or the type of that name: no other is meant for those who may look into VMs.
	// +optional
	UserDataSecretRef *LocalObjectReference `json:"userDataSecretRef,omitempty"`
	// paused stops every action on the group's VMs; status is still kept. See also the annotation
	// vm.codeconnect.vmworld.com/paused.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// VmGroup asks for a number of equal VMs in a vCenter.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=vg,categories=all
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.currentReplicas`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="CPU",type=integer,JSONPath=`.spec.cpu`
// +kubebuilder:printcolumn:name="Memory",type=integer,JSONPath=`.spec.memory`
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.template`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Last_Message",type=string,JSONPath=`.status.lastMessage`
// +kubebuilder:printcolumn:name="Updated",type=integer,priority=1,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="VCenter",type=string,priority=1,JSONPath=`.status.vcenter`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63",optionalOldSelf=true,message="a VmGroup's name may have at most 63 characters: vCenter allows 80 for a VM's name, which adds the ordinal"
// +kubebuilder:validation:XValidation:rule="self.?spec.?guest.?hostname.orValue('Keep') != 'Name' || oldSelf.hasValue() && oldSelf.value().?spec.?guest.?hostname.orValue('Keep') == 'Name' || self.metadata.name.size() <= 59",optionalOldSelf=true,fieldPath=".spec.guest.hostname",message="guest.hostname Name needs a VmGroup's name of at most 59 characters: an ordinal is added, and a host name has at most 63. Choose a shorter name, or set Keep"
// +kubebuilder:validation:XValidation:rule="self.?spec.?guest.?hostname.orValue('Keep') != 'Name' || oldSelf.hasValue() && oldSelf.value().?spec.?guest.?hostname.orValue('Keep') == 'Name' || self.metadata.name.size() > 59 || !self.metadata.name.contains('.')",optionalOldSelf=true,fieldPath=".spec.guest.hostname",message="guest.hostname Name needs a VmGroup's name without dots: a guest takes what is before the first dot for its host name, the same for all VMs. Choose a name without dots, or set Keep"
type VmGroup struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is wanted. The original operator accepted objects without one; they read as zero replicas.
	// +optional
	Spec VmGroupSpec `json:"spec,omitzero"`
	// status is what the operator last saw and did.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "NotYetReconciled", message: "No operator has looked at this VmGroup yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status VmGroupStatus `json:"status,omitzero"`
}

// VmGroupList is a list of VmGroups.
// +kubebuilder:object:root=true
type VmGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VmGroup `json:"items"`
}
