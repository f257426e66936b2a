package v1alpha1

import (
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VCenterFinalizer holds a VCenter until the operator has logged out of it.
const VCenterFinalizer = "vm.codeconnect.vmworld.com/vcenter"

// AcceptEmptyAnnotation on a VCenter tells the operator that its root folder is rightly empty, with the
// instance UUID of the vCenter as value. Without it a root that held VMs and suddenly reads empty pauses
// every create and delete there.
const AcceptEmptyAnnotation = "vm.codeconnect.vmworld.com/accept-empty-inventory"

// PredecessorAnnotation on a MemberCluster and on a VCenter has the UID of another installation of the operator, which is lost for good. This
// installation takes over the member, and the VMs which that one stamped, with the same references. It is done once no sign of life of that
// installation is left: its claim on the member is three hours old, and it has no session at the vCenter.
const PredecessorAnnotation = "vm.codeconnect.vmworld.com/predecessor"

// AcceptInstanceAnnotation on a VCenter tells the operator that the server behind it rightly has another instance
// UUID than the one its VMs were recorded in, with the new UUID as value: the vCenter was rebuilt with its VMs.
const AcceptInstanceAnnotation = "vm.codeconnect.vmworld.com/accept-instance"

// TLSConfig says how the vCenter's certificate is checked. At most one field may be set; with none, the
// system's certificate authorities are trusted.
//
// +kubebuilder:validation:XValidation:rule="[has(self.caBundle) && size(self.caBundle) > 0, has(self.thumbprint) && size(self.thumbprint) > 0, has(self.insecureSkipVerify) && self.insecureSkipVerify].filter(x, x).size() <= 1",message="set only one of caBundle, thumbprint and insecureSkipVerify"
type TLSConfig struct {
	// caBundle is a PEM bundle of certificate authorities.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	// +kubebuilder:validation:XValidation:rule="self == '' || self.contains('-----BEGIN CERTIFICATE-----')",message="caBundle holds no PEM certificate"
	CABundle string `json:"caBundle,omitempty"`
	// thumbprint is the SHA-1 or SHA-256 thumbprint of the server's certificate, hexadecimal with colons.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.replace(':', '').matches('^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})?$')",message="thumbprint must be the SHA-1 or SHA-256 of the server's certificate, 20 or 32 bytes in hexadecimal"
	Thumbprint string `json:"thumbprint,omitempty"`
	// insecureSkipVerify turns certificate checks off. Anybody on the network path can then read the password.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// VCenterUserNames says whether members learn the names of vCenter users.
// +kubebuilder:validation:Enum=Deny;Allow
type VCenterUserNames string

// Values of VCenterUserNames.
const (
	VCenterUserNamesDeny  VCenterUserNames = "Deny"
	VCenterUserNamesAllow VCenterUserNames = "Allow"
)

// Templates says where templates are looked for.
type Templates struct {
	// folders are inventory paths; only templates below one of them may be used. Empty means any VM that is
	// marked as template.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Folders []string `json:"folders,omitempty"`
}

// Grant lets groups of some member clusters and namespaces use this vCenter and some of its objects.
// Patterns may contain * for any run of characters, also across slashes.
type Grant struct {
	// memberClusters are patterns of MemberCluster names; the hub itself is "local".
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p && p.lowerAscii() == p)",message="a pattern must not be empty, begin or end with a space, or have capital letters: it would match no MemberCluster"
	MemberClusters []string `json:"memberClusters"`
	// namespaceSelector chooses namespaces by their labels in the member; left out or empty, all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// templates are patterns of template names or inventory paths. Empty grants no template.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Templates []string `json:"templates,omitempty"`
	// resourcePools are patterns that a group may name in its placement. The VCenter's default needs no grant.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	ResourcePools []string `json:"resourcePools,omitempty"`
	// datastores are patterns that a group may name in its placement. The VCenter's default needs no grant.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Datastores []string `json:"datastores,omitempty"`
	// networks are patterns that a group may name in its placement. The VCenter's default needs no grant.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(p, p != '' && p.trim() == p)",message="a pattern must not be empty, nor begin or end with a space: it would match nothing"
	Networks []string `json:"networks,omitempty"`
}

// VCenterLimits bounds what the operator asks of a vCenter at one time.
type VCenterLimits struct {
	// tasks is the number of running tasks over all groups.
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=640
	Tasks int32 `json:"tasks,omitempty"`
	// tasksPerHost is the number of running clones whose template is on one host. vSphere itself runs four
	// full clones of one host at a time and queues the rest.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=640
	TasksPerHost int32 `json:"tasksPerHost,omitempty"`
}

// InventoryMode says how the operator learns of changes in vCenter.
// +kubebuilder:validation:Enum=Watch;Poll
type InventoryMode string

// Inventory modes.
const (
	// InventoryWatch keeps one property-collector stream open.
	InventoryWatch InventoryMode = "Watch"
	// InventoryPoll reads the root folder every pollSeconds with one call.
	InventoryPoll InventoryMode = "Poll"
)

// Inventory says how the operator observes its root folder.
type Inventory struct {
	// mode is Watch, which keeps a stream of changes open, or Poll, which reads the root folder every pollSeconds. Poll suits simulators, whose watch is quadratic in the number of VMs.
	// +optional
	// +kubebuilder:default=Watch
	Mode InventoryMode `json:"mode,omitempty"`
	// pollSeconds is the interval of mode Poll, in seconds.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	PollSeconds int32 `json:"pollSeconds,omitempty"`
}

// LegacyFolder grants the VMs of a folder to a VmGroup of the original operator, which takes them over.
type LegacyFolder struct {
	// folder that the VMs lie directly in: its path below the datacenter's VM folder, or its whole inventory path.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Folder string `json:"folder"`
	// memberCluster is the name of the MemberCluster of the group; the hub itself is "local".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	MemberCluster string `json:"memberCluster"`
	// namespace of the group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// group is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
}

// SameLegacyFolder reports whether two paths may name the same folder. One may be the end of the other, which has the datacenter in it.
func SameLegacyFolder(a, b string) bool {
	return LegacyFolderKey(a) == LegacyFolderKey(b)
}

// LegacyFolderKey is the same for paths that may name the same folder: it has no datacenter in it, and does not tell capital letters from small ones.
func LegacyFolderKey(path string) string {
	if strings.HasPrefix(path, "/") {
		if _, rest, found := strings.Cut(path, "/vm/"); found {
			path = rest
		}
	}
	// The least of the letters that are one but for their case, as strings.EqualFold has it; some have more than two forms.
	return strings.Map(func(letter rune) rune {
		least := letter
		for other := unicode.SimpleFold(letter); other != letter; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, strings.Trim(path, "/"))
}

// VCenterSpec is a vCenter and who may use it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.server) || !self.server.lowerAscii().startsWith('http://') || has(self.tls) && has(self.tls.insecureSkipVerify) && self.tls.insecureSkipVerify",message="server must use https: http would send the password in the clear",fieldPath=".server"
type VCenterSpec struct {
	// server is the URL of the vCenter, https://host[:port], optionally with the path /sdk and no other. Empty takes
	// VC_HOST from the Secret, as the original operator did.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.contains('@')",message="server must not contain a user name or password: put them into the Secret of credentialsSecretRef"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9]+://)?[^/?#]*(/(sdk/?)?)?$')",message="server may have a host, a port and the path /sdk only"
	// +kubebuilder:validation:XValidation:rule="self.matches('^(((?i:https?)://)?([[][0-9a-fA-F:.]+[]]|[^]/:@ []+)(:[0-9]+)?(/[^ ]*)?)?$')",message="server must be a URL of the form https://<host>[:port]"
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`
	// credentialsSecretRef names a Secret in the operator's namespace with keys username and password, or the
	// original's VC_USER and VC_PASS. They are sent only to the vCenters that the Secret names: in its annotation
	// vm.codeconnect.vmworld.com/vcenter-hosts, or else in its key VC_HOST.
	// +required
	CredentialsSecretRef LocalObjectReference `json:"credentialsSecretRef"`
	// tls says how the server's certificate is checked.
	// +optional
	TLS *TLSConfig `json:"tls,omitempty"`
	// datacenter is the name or inventory path of the datacenter; the only one is found when it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Datacenter string `json:"datacenter,omitempty"`
	// folder is the root folder of the operator below the datacenter's VM folder. It is created when missing.
	// +optional
	// +kubebuilder:default=vm-operator
	// +kubebuilder:validation:MaxLength=255
	Folder string `json:"folder,omitempty"`
	// resourcePool is the default for groups: a name or path; the only one is found when it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ResourcePool string `json:"resourcePool,omitempty"`
	// datastore is the default for groups: a name or path. Empty leaves new VMs on the template's datastore.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Datastore string `json:"datastore,omitempty"`
	// network is the default for groups: a name or path. Empty leaves new VMs on the template's network.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Network string `json:"network,omitempty"`
	// templates says where templates are looked for.
	// +optional
	Templates *Templates `json:"templates,omitempty"`
	// grants say who may use this vCenter. Without any, only the hub's own member "local" may, with
	// everything in it; with any, whatever is not granted is refused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Grants []Grant `json:"grants,omitempty"`
	// vcenterUserNames is Allow or Deny: whether events of VmGroups name the vCenter user who powered off, deleted, or otherwise changed a VM
	// behind the operator's back. With Deny, and without it, only the VCenter's own events on the hub and the operator's log do.
	// +optional
	VCenterUserNames VCenterUserNames `json:"vcenterUserNames,omitempty"`
	// legacyFolders grant folders with VMs of the original operator to VmGroups that take them over, each folder to one group.
	// +optional
	// +listType=map
	// +listMapKey=folder
	// +kubebuilder:validation:MaxItems=512
	LegacyFolders []LegacyFolder `json:"legacyFolders,omitempty"`
	// limits bounds what the operator asks of this vCenter at one time.
	// +optional
	// +kubebuilder:default={}
	Limits VCenterLimits `json:"limits,omitzero"`
	// inventory says how the operator observes its root folder.
	// +optional
	// +kubebuilder:default={}
	Inventory Inventory `json:"inventory,omitzero"`
}

// VCenterRoot is a root folder that was found by its name. It is used only if vCenter shows VMs of this installation in it, as they are in a root folder.
type VCenterRoot struct {
	// instanceUuid of the vCenter that the reference is of.
	// +required
	// +kubebuilder:validation:MaxLength=64
	InstanceUUID string `json:"instanceUuid"`
	// datacenter as spec had it.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Datacenter string `json:"datacenter,omitempty"`
	// folder as spec had it.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Folder string `json:"folder,omitempty"`
	// moRef is the managed object reference of the folder.
	// +required
	// +kubebuilder:validation:MaxLength=128
	MoRef string `json:"moRef"`
}

// VCenterCheck is a `manager check vcenter` that passed: nothing failed.
type VCenterCheck struct {
	// time when the check began.
	// +required
	Time metav1.Time `json:"time"`
	// version of the vCenter that was checked.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// build of the vCenter that was checked.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Build string `json:"build,omitempty"`
	// operator is the version of the program that checked.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Operator string `json:"operator,omitempty"`
	// warnings is the number of warnings.
	// +optional
	Warnings int32 `json:"warnings"`
}

// VCenterStatus is what the operator last saw of a vCenter.
type VCenterStatus struct {
	// conditions of the vCenter; see docs/reference/vcenter.md for types and reasons.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes. It stays behind until it is known whether the settings of a new generation work. It is -1 until the operator writes status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// server that the operator is connected to, or was last. It differs from spec.server while that does not work.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`
	// version as the server reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
	// instanceUuid of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceUUID string `json:"instanceUuid,omitempty"`
	// root is where the root folder is, so that it is found again after it was renamed, or a datacenter was added.
	// +optional
	Root *VCenterRoot `json:"root,omitempty"`
	// check is the last `manager check vcenter` that passed. The command writes it, and the operator keeps it. Compare its
	// build with that of vCenter after an upgrade.
	// +optional
	Check *VCenterCheck `json:"check,omitempty"`
	// templates is the number of templates that may be used.
	// +optional
	Templates int32 `json:"templates"`
	// vms is the number of VMs below the root folder that carry this installation's stamp.
	// +optional
	VMs int32 `json:"vms"`
	// runningTasks is the number of tasks of the operator that were running when status was last written.
	// +optional
	RunningTasks int32 `json:"runningTasks"`
	// readyVMs is the number of VMs of VmGroups that use this VCenter that are ready.
	// +optional
	ReadyVMs int32 `json:"readyVMs"`
	// desiredVMs is the number of VMs that these groups want. Groups that are paused or deleted want none.
	// +optional
	DesiredVMs int32 `json:"desiredVMs"`
	// notReady has the VmGroups that are not ready. It is absent if all are ready. Groups that are paused or held are left out.
	// +optional
	NotReady *NotReadyGroups `json:"notReady,omitempty"`
}

// VCenter is a vCenter server that VmGroups can use, on the hub.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=vc
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.server`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Templates",type=integer,JSONPath=`.status.templates`
// +kubebuilder:printcolumn:name="VMs",type=integer,JSONPath=`.status.vms`
// +kubebuilder:printcolumn:name="Ready_VMs",type=integer,JSONPath=`.status.readyVMs`
// +kubebuilder:printcolumn:name="Desired_VMs",type=integer,JSONPath=`.status.desiredVMs`
// +kubebuilder:printcolumn:name="Not_Ready",type=integer,JSONPath=`.status.notReady.groups`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type VCenter struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is a vCenter and who may use it.
	// +required
	Spec VCenterSpec `json:"spec"`
	// status is what the operator last saw.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status VCenterStatus `json:"status,omitzero"`
}

// VCenterList is a list of VCenters.
// +kubebuilder:object:root=true
type VCenterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VCenter `json:"items"`
}
