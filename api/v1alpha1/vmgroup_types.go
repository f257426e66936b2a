package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// VmGroupFinalizer holds a VmGroup until its VMs are deleted from vCenter, or retained there with deletionPolicy Retain.
	VmGroupFinalizer = "vm.codeconnect.vmworld.com/vmgroup"

	// LegacyFinalizer is the finalizer of the original codeconnect VM operator. The operator does not touch an object with this finalizer
	// until [AdoptAnnotation] is set.
	LegacyFinalizer = "vm-operator"

	// AdoptAnnotation is [AdoptLegacy] or [AdoptAbandon] on an object of the original operator. Any other value is the UID of a deleted
	// VmGroup of the same namespace. This VmGroup adopts the VMs of that one before it clones any.
	AdoptAnnotation = "vm.codeconnect.vmworld.com/adopt"
	// AdoptLegacy stamps the original's VMs and keeps them, with their managed object references.
	AdoptLegacy = "legacy"
	// AdoptAbandon leaves the original's VMs in vCenter, unmanaged.
	AdoptAbandon = "abandon"

	// PausedAnnotation pauses a group like spec.paused when its value is "true". A GitOps tool does not undo it.
	PausedAnnotation = "vm.codeconnect.vmworld.com/paused"
)

// CloneMode specifies how the disks of a new VM relate to those of its template.
// +kubebuilder:validation:Enum=Full;Linked;LinkedPreferred
type CloneMode string

// Clone modes.
const (
	// CloneFull copies the template's disks.
	CloneFull CloneMode = "Full"
	// CloneLinked shares the template's disks through its current snapshot. Without a snapshot, no VM is cloned.
	CloneLinked CloneMode = "Linked"
	// CloneLinkedPreferred is Linked if the template has a snapshot, otherwise Full.
	CloneLinkedPreferred CloneMode = "LinkedPreferred"
)

// PowerState is the desired power state of a group's VMs.
// +kubebuilder:validation:Enum=PoweredOn;PoweredOff
type PowerState string

// Power states.
const (
	PoweredOn  PowerState = "PoweredOn"
	PoweredOff PowerState = "PoweredOff"
)

// DeletionPolicy specifies how surplus VMs are handled.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// Deletion policies.
const (
	// DeletionDelete destroys the VMs with their disks.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionRetain replaces the owner stamp with a retention mark and does not change the VMs otherwise.
	DeletionRetain DeletionPolicy = "Retain"
)

// ShutdownMode specifies whether the guest of a VM is asked to shut down before the VM is powered off.
// +kubebuilder:validation:Enum=Graceful;Hard
type ShutdownMode string

// Shutdown modes.
const (
	// ShutdownGraceful asks the guest to shut down, and powers the VM off after a timeout.
	ShutdownGraceful ShutdownMode = "Graceful"
	// ShutdownHard powers the VM off at once.
	ShutdownHard ShutdownMode = "Hard"
)

// DefaultShutdownTimeoutSeconds is the default of spec.shutdown.timeoutSeconds.
const DefaultShutdownTimeoutSeconds = 180

// Shutdown specifies how a VM is stopped: when it is removed, and when powerState becomes PoweredOff. If VMware Tools do not run in the
// guest, the VM is powered off at once, whatever the mode.
type Shutdown struct {
	// mode is Graceful or Hard. Graceful asks the guest to shut down, and powers the VM off after timeoutSeconds. Hard powers the VM off at
	// once. Set it to Hard to end a wait in progress.
	// +optional
	// +kubebuilder:default=Graceful
	Mode ShutdownMode `json:"mode,omitempty"`
	// timeoutSeconds is how long a guest can take to shut down, in seconds, from when it was asked. A change also applies to guests that
	// were asked before.
	// +optional
	// +kubebuilder:default=180
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// DeletionProtection specifies whether a group can be deleted.
// +kubebuilder:validation:Enum=Enabled;Disabled
type DeletionProtection string

// Deletion protections.
const (
	DeletionProtectionEnabled  DeletionProtection = "Enabled"
	DeletionProtectionDisabled DeletionProtection = "Disabled"
)

// Placement specifies where new VMs are placed. Every reference is an inventory name or path, and the VCenter must grant it. An empty
// reference uses the VCenter's default.
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

// UpdateStrategyType specifies when VMs of an older revision are updated.
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type UpdateStrategyType string

// Update strategies.
const (
	UpdateRolling  UpdateStrategyType = "RollingUpdate"
	UpdateOnDelete UpdateStrategyType = "OnDelete"
)

// ResizeMode specifies how far an update of cpu or memory can disturb a VM.
// +kubebuilder:validation:Enum=Hot;Restart;Recreate
type ResizeMode string

// Resize modes.
const (
	ResizeHot      ResizeMode = "Hot"
	ResizeRestart  ResizeMode = "Restart"
	ResizeRecreate ResizeMode = "Recreate"
)

// UpdateStrategy specifies how an edit of spec reaches existing VMs.
//
// A percentage refers to spec.replicas. That of maxSurge is rounded up, that of maxUnavailable down. If both are percentages that round to
// zero, maxUnavailable counts as 1.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxSurge) && has(self.maxUnavailable) && type(self.maxSurge) == int && self.maxSurge == 0 && type(self.maxUnavailable) == int && self.maxUnavailable == 0)",message="maxSurge and maxUnavailable must not both be 0: no VM could be updated"
type UpdateStrategy struct {
	// type is RollingUpdate or OnDelete. RollingUpdate updates VMs after an edit. OnDelete replaces only VMs that you remove. Delete them
	// in vCenter. Or name them in spec.scaleDown.deleteFirst, lower replicas by their number, and raise replicas again after they were
	// deleted. Replacements match spec.
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`
	// maxSurge is the number of VMs above spec.replicas that can exist during an update: a whole number from 0 to 500, or a percentage up
	// to 100%.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 500 : self.matches('^(100|[0-9]{1,2})%$')",message="maxSurge must be a whole number from 0 to 500, or a percentage up to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// maxUnavailable is the number of VMs below spec.replicas that can be missing during an update: a whole number from 0 to 500, or a
	// percentage up to 100%.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 500 : self.matches('^(100|[0-9]{1,2})%$')",message="maxUnavailable must be a whole number from 0 to 500, or a percentage up to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// resize is Hot, Restart or Recreate: how changes of cpu and memory reach a VM. Hot never restarts a VM. If a running VM cannot be
	// changed, status.vms shows restartPending, and the VM is changed when it is off. Restart changes the running VM if possible.
	// Otherwise, it restarts the VM, within maxUnavailable. Recreate replaces the VM.
	// +optional
	// +kubebuilder:default=Restart
	Resize ResizeMode `json:"resize,omitempty"`
	// paused stops the update in its current state. Existing VMs are kept and repaired.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// replaceTrigger is any text. When it changes, all VMs are replaced. Use it after a template was rebuilt under its name, or user data
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ReplaceTrigger string `json:"replaceTrigger,omitempty"`
	// maxFailures is the number of updated VMs that can fail to become ready within readiness.startupTimeoutSeconds before the update
	// stops.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxFailures int32 `json:"maxFailures,omitempty"`
}

// ScaleDownOrder specifies which VM is removed first.
// +kubebuilder:validation:Enum=Newest;Oldest
type ScaleDownOrder string

// Scale-down orders.
const (
	ScaleDownNewest ScaleDownOrder = "Newest"
	ScaleDownOldest ScaleDownOrder = "Oldest"
)

// ScaleDown specifies the order in which VMs are removed when replicas decrease: VMs already being deleted, VMs named in deleteFirst,
// unhealthy VMs, then by order. The name breaks ties.
type ScaleDown struct {
	// order is Newest or Oldest: which VMs are removed first, by the time of the clone.
	// +optional
	// +kubebuilder:default=Newest
	Order ScaleDownOrder `json:"order,omitempty"`
	// deleteFirst names VMs that are removed before others. Naming a VM here does not delete it; a decrease of replicas does. A name refers
	// to the VM that has it when it is listed: see status.deleteFirst. It does not refer to a new VM that gets the name later, until you
	// remove the name from the list and list it again.
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
	// GatePoweredOn counts a VM as ready when it runs on a connected host.
	GatePoweredOn ReadinessGate = "PoweredOn"
	// GateGuestHeartbeat also requires a green heartbeat from VMware Tools.
	GateGuestHeartbeat ReadinessGate = "GuestHeartbeat"
	// GateGuestIP also requires an IP address reported by VMware Tools.
	GateGuestIP ReadinessGate = "GuestIP"
)

// GuestInfoGate is a guestinfo value with which a guest reports that it is ready, for example by vmtoolsd --cmd "info-set guestinfo.ready
// yes". It is lost when the VM is powered off, and cleared in a clone.
type GuestInfoGate struct {
	// key begins with guestinfo.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^guestinfo\.[A-Za-z0-9_.-]+$`
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().startsWith('guestinfo.ignition.')",message="the key is one that Ignition reads"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['guestinfo.metadata', 'guestinfo.metadata.encoding', 'guestinfo.userdata', 'guestinfo.userdata.encoding', 'guestinfo.vendordata', 'guestinfo.vendordata.encoding'])",message="the key is one that cloud-init reads"
	Key string `json:"key"`
	// value that the key must have.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value"`
	// failedValue is the value with which the guest reports that it will not become ready. An updated VM with this value counts as failed
	// at once.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailedValue string `json:"failedValue,omitempty"`
}

// Readiness specifies when a VM counts as ready.
type Readiness struct {
	// gate is PoweredOn, GuestHeartbeat or GuestIP. PoweredOn requires that the VM runs on a connected host. GuestHeartbeat also requires a
	// green heartbeat from VMware Tools. GuestIP also requires an IP address reported by VMware Tools.
	// +optional
	// +kubebuilder:default=PoweredOn
	Gate ReadinessGate `json:"gate,omitempty"`
	// minReadySeconds is how long a VM must have passed the gate before it counts as ready, in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// startupTimeoutSeconds is how long an updated VM can take to pass the gate, in seconds. It runs from the VM's first start, or from its
	// change in place; the time before the update does not count. After that, the VM counts as failed: see updateStrategy.maxFailures.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	StartupTimeoutSeconds int32 `json:"startupTimeoutSeconds,omitempty"`
	// guestInfo is a value that the guest must publish, in addition to the gate.
	// +optional
	GuestInfo *GuestInfoGate `json:"guestInfo,omitempty"`
	// progressDeadlineSeconds is how long a change can take before the group is reported as Stalled, in seconds. Zero means no deadline.
	// The operator keeps trying after the deadline.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
}

// RepairMode specifies how the operator handles VMs that were changed or lost outside the operator.
// +kubebuilder:validation:Enum=Enforce;Observe
type RepairMode string

// Repair modes.
const (
	// RepairEnforce corrects the power state and replaces VMs that were deleted.
	RepairEnforce RepairMode = "Enforce"
	// RepairObserve reports such VMs and does not change them.
	RepairObserve RepairMode = "Observe"
)

// Repair specifies how far the operator repairs VMs automatically.
type Repair struct {
	// mode is Enforce or Observe. Enforce corrects the power state of VMs and replaces deleted VMs. Observe reports them and does not
	// change them.
	// +optional
	// +kubebuilder:default=Enforce
	Mode RepairMode `json:"mode,omitempty"`
	// maxUnhealthy is the number of lost or wrongly powered VMs up to which the operator repairs. It is a whole number from 0 to 500, or a
	// percentage of spec.replicas up to 100%, rounded down. Above this number, the cause is probably not the VMs, and repair waits for a
	// user. Unset means no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 500 : self.matches('^(100|[0-9]{1,2})%$')",message="maxUnhealthy must be a whole number from 0 to 500, or a percentage up to 100%"
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
}

// GuestHostname specifies which host name a guest gets.
// +kubebuilder:validation:Enum=Name;Keep
type GuestHostname string

// Host names of guests.
const (
	// GuestHostnameName sets a guest's host name to the name of its VM.
	GuestHostnameName GuestHostname = "Name"
	// GuestHostnameKeep leaves the host name to the template and to user data.
	GuestHostnameKeep GuestHostname = "Keep"
)

// Guest is metadata about itself that each guest gets, through guestinfo.metadata for cloud-init. The operator writes it with the clone and
// never changes it. Existing VMs do not get it, because cloud-init would treat them as new. An edit of it starts no update.
type Guest struct {
	// hostname is Name or Keep. Name sets a guest's host name to the name of its VM. Keep leaves the host name to the template and to user
	// data. With Name, the VmGroup's name must have no dots and at most 59 characters. Windows keeps 15 characters of a host name.
	// +optional
	// +kubebuilder:default=Keep
	Hostname GuestHostname `json:"hostname,omitempty"`
	// metadata are further entries for the guest. The operator sets instance-id, local-hostname and hostname.
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

// VmGroupSpec is the desired state: replicas VMs of one shape, cloned from one template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.coresPerSocket) || !has(self.cpu) || self.cpu % self.coresPerSocket == 0",fieldPath=".coresPerSocket",message="cpu must be a multiple of coresPerSocket: each socket has the same number of cores"
// +kubebuilder:validation:XValidation:rule="self.?disks.?root.?sizeGiB.orValue(63488) >= oldSelf.?disks.?root.?sizeGiB.orValue(0)",fieldPath=".disks.root.sizeGiB",message="a disk cannot shrink: vCenter only grows disks. Set the old value or a larger one. To clone new VMs with a smaller disk, remove the field, and set the smaller value in a second edit; existing VMs keep their disks"
// +kubebuilder:validation:XValidation:rule="!has(self.disks) || !has(self.disks.data) || !has(oldSelf.disks) || !has(oldSelf.disks.data) || self.disks.data.all(d, oldSelf.disks.data.all(o, o.name != d.name || o.sizeGiB <= d.sizeGiB))",fieldPath=".disks.data",message="a disk cannot shrink: vCenter only grows disks. Set the old value or a larger one. For a smaller disk, add one with another name; the present one stays on existing VMs"
// +kubebuilder:validation:XValidation:rule="self.?cloneMode.orValue('Full') != 'Linked' || !has(self.disks) || !has(self.disks.root)",fieldPath=".disks.root",message="vCenter does not grow the disk of a linked clone, which shares it with the template: set cloneMode to Full, or to LinkedPreferred, which makes a full clone then"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.vcenter) || oldSelf.vcenter.size() == 0 || has(self.vcenter) && self.vcenter == oldSelf.vcenter",message="vcenter is immutable once set: VMs do not move between vCenters. Create a new VmGroup instead."
type VmGroupSpec struct {
	// cpu is the number of virtual CPUs per VM.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=768
	CPU int32 `json:"cpu,omitempty"`
	// coresPerSocket is the number of cores that each virtual socket of a VM has. cpu must be a multiple of it. Guests see the sockets, and some licenses
	// count them. Unset means that VMs have as many as the template, or the greatest number below that with which cpu fits. To change it, a VM must be off.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=768
	CoresPerSocket int32 `json:"coresPerSocket,omitempty"`
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
	// disks specifies the virtual disks of each VM. Without it, VMs have those of the template.
	// +optional
	Disks *Disks `json:"disks,omitempty"`
	// replicas is the number of VMs. Leave it out if an autoscaler sets it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=500
	Replicas *int32 `json:"replicas,omitempty"`
	// vcenter is the name of a VCenter on the hub; empty means "default". Immutable once set.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VCenter string `json:"vcenter,omitempty"`
	// placement specifies where new VMs are placed.
	// +optional
	Placement *Placement `json:"placement,omitempty"`
	// cloneMode is Full, Linked or LinkedPreferred. Full copies the template's disks. Linked shares them through the template's current
	// snapshot; without a snapshot, no VM is cloned. LinkedPreferred is Linked if the template has a snapshot, otherwise Full.
	// +optional
	// +kubebuilder:default=Full
	CloneMode CloneMode `json:"cloneMode,omitempty"`
	// powerState is PoweredOn or PoweredOff, for all VMs of the group.
	// +optional
	// +kubebuilder:default=PoweredOn
	PowerState PowerState `json:"powerState,omitempty"`
	// shutdown specifies how VMs are stopped before removal or power-off. Without it, the guest is asked to shut down and has 180 seconds.
	// With deletionPolicy Retain, no VM is stopped.
	// +optional
	Shutdown *Shutdown `json:"shutdown,omitempty"`
	// updateStrategy specifies how an edit reaches existing VMs. Without it, its defaults apply.
	// +optional
	UpdateStrategy *UpdateStrategy `json:"updateStrategy,omitempty"`
	// scaleDown specifies which VMs are removed first.
	// +optional
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`
	// readiness specifies when a VM counts as ready.
	// +optional
	Readiness *Readiness `json:"readiness,omitempty"`
	// guest is metadata about itself that each guest gets.
	// +optional
	Guest *Guest `json:"guest,omitempty"`
	// repair specifies how far the operator repairs VMs automatically.
	// +optional
	Repair *Repair `json:"repair,omitempty"`
	// deletionPolicy is Delete or Retain. Delete destroys surplus VMs with their disks. Retain leaves them in vCenter without the group's
	// stamp.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// deletionProtection is Enabled or Disabled, the default. If Enabled, this cluster refuses to delete the group and its namespace, until
	// it is Disabled or the namespace's deletion is confirmed.
	// +optional
	DeletionProtection DeletionProtection `json:"deletionProtection,omitempty"`
	// userDataSecretRef names a Secret in the group's namespace. Through guestinfo, its key "userdata" is passed to cloud-init, and its key
	// "ignition" to Ignition. The MemberCluster must allow it. The Secret must have the label vm.codeconnect.vmworld.com/user-data with the
	// value true, or the type of that name. Other Secrets are not meant for people with access to VMs.
	// +optional
	UserDataSecretRef *LocalObjectReference `json:"userDataSecretRef,omitempty"`
	// paused stops every action on the group's VMs; the operator still updates status. See also the annotation
	// vm.codeconnect.vmworld.com/paused.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// VmGroup requests a number of identical VMs in a vCenter.
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
	// spec is the desired state. The original operator accepted objects without spec; they read as zero replicas.
	// +optional
	Spec VmGroupSpec `json:"spec,omitzero"`
	// status is the observed state, and the record of the operator's actions.
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
